import Foundation
import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitRemote
import Testing

@testable import temporal

/// Tests poison orders that are sent to one worker.
@Suite(.timeLimit(.minutes(10))) struct PoisonTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "temporal-\(UUID().uuidString)")

  private func file(_ name: String, _ header: String, _ count: Int = 0) throws -> String {
    let path = folder.appending(path: name).path
    try (Data(header.utf8) + Data(count: count)).write(to: URL(filePath: path))
    return path
  }

  @Test("Each poison order fails its own call, and the worker executes the next one")
  func orders() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let arguments = try Arguments(["worker", "--folder", "\(folder.path)", "--pace=0"])
    let good = try file("good.ppm", "P6\n4 2\n255\n", 24)
    let target = folder.appending(path: "kitten-16.ppm").path
    var orders: [ResizeOrder] = []
    for header in [
      "P6\n9223372036854775807 9223372036854775807\n255\n", "P6\n9223372036854775807 1\n255\n", "P6\n-4 -2\n255\n",
      "P6\n-4 2\n255\n", "P6\n0 0\n255\n", "P6\n4 3\n255\n", "P5\n4 2\n255\n", "P6\n", "", "P6\n4 2\n255",
      "P6\n99999999999999999999 2\n255\n",
    ] {
      orders.append(ResizeOrder(source: try file("\(orders.count).ppm", header, 24), target: target, width: 2))
    }
    for width in [0, -1, Int.min, .max, 1 << 40, 1 << 24] {
      orders.append(ResizeOrder(source: good, target: target, width: width))
    }
    for source in ["", "/dev/zero", "/", "/no/such/file", "/proc/self/pagemap", good + "\0", folder.path] {
      orders.append(ResizeOrder(source: source, target: target, width: 2))
    }
    let inFolder = folder.path
    for target in [
      "", "/", ".", inFolder, inFolder + "/", inFolder + "/../kitten-1.ppm", inFolder + "/kitten-.ppm",
      inFolder + "/kitten-1/2.ppm", inFolder + "/kitten-1.ppm\0", inFolder + "/kitten-\0.ppm", "/etc/kitten-1.ppm",
      "kitten-1.ppm", inFolder + "/executions", "/dev/full", target + "/kitten-1.ppm",
    ] {
      orders.append(ResizeOrder(source: good, target: target, width: 2))
    }

    var registry = ProcedureRegistry(coder: Resize.coder)
    registry.register(try Resize(arguments).procedure, as: .resize)
    let engine = LocalEngine()
    let known = registry
    let queue = ProcedureQueue("worker", maxConcurrentProcedures: 1)
    async let worker: Void = RemoteWorker(registry: known, queue: queue).run(from: engine)
    let resize = ProcedureTask<ResizeOrder, Thumbnail>("resize") { _ in throw DemoError("executed here") }
      .remote(on: engine, as: .resize)
    for order in orders {
      await #expect(throws: ResizeError.self, "\(order)") { try await resize(order) }
    }
    let thumbnail = try await resize(ResizeOrder(source: good, target: target, width: 2))
    #expect(thumbnail.width == 2 && thumbnail.height == 1)
    #expect(try Picture(contentsOf: target).checksum == thumbnail.checksum)
    engine.finish()
    try await worker
  }
}
