import Foundation
import Testing

@testable import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct CrashTrailTests {
  private func files() throws -> [String] {
    let directory = Platform.temporaryDirectory
    let prefix = "procedurekit-exploration-\(Platform.processIdentifier)-"
    return try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasPrefix(prefix) }
      .compactMap { try? String(contentsOfFile: "\(directory)/\($0)", encoding: .utf8) }
  }

  @Test("While a schedule runs, a file contains its replay string, which leads to the same step")
  func whileRunning() async throws {
    let seed: UInt64 = 7_771
    let seen = Locked<[String]>([])
    try await exploreSchedules(3, seed: seed) { env in
      async let first: Void = Task.yield()
      async let second: Void = Task.yield()
      _ = await (first, second)
      guard env.schedule == 2 else { return }
      let files = (try? files()) ?? []
      seen { $0 += files.filter { $0.contains("schedule 2 (seed \(seed),") } }
    }
    let text = try #require(seen.value.first)
    let line = try #require(text.split(separator: "\n").last)
    let code = try ReplayCode(line.trimmingCharacters(in: .whitespaces))
    #expect(code.seed == SeededGenerator.seed(seed, 2))
    #expect(try !files().contains { $0.contains("(seed \(seed),") }, "an exploration that ends leaves no file")
  }
}
