import Foundation
import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitRemote

/// A coordinator that runs the graph. If it is started again with the same job name, it continues the job. Recorded values are reused.
/// Calls that have already been sent are found on the server by their keys.
struct Coordinator: Sendable {
  private let arguments: Arguments
  private let values: RecordFile
  private let recorded: [Int: Thumbnail]

  init(_ arguments: Arguments) throws {
    self.arguments = arguments
    values = try RecordFile(arguments.folder.appending(path: "values"))
    let pairs = values.lines.compactMap { line -> (Int, Thumbnail)? in
      let words = line.split(separator: " ", maxSplits: 1)
      guard words.count == 2, let width = Int(words[0]) else { return nil }
      return (try? Resize.coder.decode(Thumbnail.self, from: Array(words[1].utf8))).map { (width, $0) }
    }
    recorded = Dictionary(pairs) { first, _ in first }
  }

  func run() async throws {
    let thumbnails = try await ProcedureQueue("coordinator", maxConcurrentProcedures: 8).run(graph, input: orders)
    for (thumbnail, order) in zip(thumbnails, orders) {
      guard try Picture(contentsOf: order.target).checksum == thumbnail.checksum else {
        throw DemoError("\(order.target) differs from the picture that the worker reported")
      }
    }
    for thumbnail in thumbnails { print("\(thumbnail.width) x \(thumbnail.height)  \(thumbnail.checksum)") }
    print("\(thumbnails.count) pictures in \(arguments.folder.path.inOneLine)")
  }

  private var orders: [ResizeOrder] {
    (1...arguments.sizes).map { number in
      let target = arguments.folder.appending(path: "kitten-\(number + 15).ppm").path
      return ResizeOrder(source: arguments.picture.path, target: target, width: number + 15)
    }
  }

  private var graph: ProcedureGraph<[ResizeOrder], [Thumbnail]> {
    let resize = resize
    return ProcedureGraph("kittens") { (g, orders: Node<[ResizeOrder]>) in
      let thumbnails = g.map(orders, with: resize, maxConcurrentElements: 8)
      return g.add("sort", from: thumbnails) { $0.sorted { $0.width < $1.width } }
    }
  }

  /// The remote procedure, which also records each value.
  private var resize: ProcedureTask<ResizeOrder, Thumbnail> {
    let (arguments, values, recorded) = (arguments, values, recorded)
    var limits = RemoteLimits()
    limits.heartbeatTimeout = .seconds(2)
    limits.deliveries = 100
    let body = ProcedureTask<ResizeOrder, Thumbnail>("resize") { _ in
      throw DemoError("the coordinator executed the resize itself")
    }
    let remote = body.remote(
      on: TemporalExecutor(arguments.connection), as: .resize, limits: limits, key: { "\(arguments.job) \($0.width)" })
    return ProcedureTask("resize") { (order: ResizeOrder) in
      let thumbnail = try await remote(order)
      let text = String(decoding: try Resize.coder.encode(thumbnail), as: UTF8.self)
      try values.append("\(order.width) \(text)")
      return thumbnail
    }.reusing("recorded") { recorded[$0.width] }
  }
}
