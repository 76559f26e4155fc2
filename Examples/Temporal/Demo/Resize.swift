import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// The order for one resize. Pictures are too large for messages: the order has their places.
struct ResizeOrder: Codable, Hashable, Sendable {
  var source: String
  var target: String
  var width: Int
}

/// A picture that was made: its size, and a checksum of its pixels.
struct Thumbnail: Codable, Hashable, Sendable {
  var width: Int
  var height: Int
  var checksum: String
}

/// A picture that cannot be resized.
enum ResizeError: Error, Codable, Hashable, CustomStringConvertible {
  case unreadable(String)

  var description: String {
    switch self {
    case .unreadable(let path):
      "the picture \(path) is not there, or is no PPM of 8 bits: build the demonstration where it is run"
    }
  }
}

extension RemoteSignature where Input == ResizeOrder, Output == Thumbnail {
  static var resize: Self { RemoteSignature("resize", version: 1, errors: [ResizeError.self]) }
}

/// The worker's procedure.
///
/// Its effect is idempotent: the picture appears under its name at once and whole, however often it is made.
struct Resize: Sendable {
  static let coder = JSONProcedureCoder()

  private let pace: Duration
  private let executions: RecordFile

  init(_ arguments: Arguments) throws {
    pace = .milliseconds(arguments.pace)
    executions = try RecordFile(arguments.folder.appending(path: "executions"))
  }

  var procedure: ProcedureTask<ResizeOrder, Thumbnail> {
    ProcedureTask("resize") { order in
      let execution = RemoteExecution.current
      try executions.append("\(order.width) \(execution?.delivery ?? 0) \(ProcessInfo.processInfo.processIdentifier)")
      let picture = try Picture(contentsOf: order.source)
      for step in 0..<10 {
        execution?.report(RemoteProgress(Double(step) / 10, "resizing to \(order.width)"))
        try await Task.sleep(for: pace / 10)
      }
      let small = picture.resized(toWidth: order.width)
      try Data(small.ppm).write(to: URL(filePath: order.target), options: .atomic)
      return Thumbnail(width: small.width, height: small.height, checksum: small.checksum)
    }
  }
}
