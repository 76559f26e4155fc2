import Foundation
import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitRemote

/// An order to resize a picture. The order contains paths, since pictures are too large for messages.
struct ResizeOrder: Codable, Hashable, Sendable {
  var source: String
  var target: String
  var width: Int
}

/// The result of an order: the size of the picture, and its checksum.
struct Thumbnail: Codable, Hashable, Sendable {
  var width: Int
  var height: Int
  var checksum: String
}

/// The reason an order cannot be executed. The call fails with this error, and the worker continues.
enum ResizeError: Error, Codable, Hashable, CustomStringConvertible {
  case unreadable(String)
  case impossibleWidth(Int)
  case forbiddenTarget(String)
  case unwritable(String)

  var description: String {
    switch self {
    case .unreadable(let path):
      "the picture \(path) does not exist, or is not an 8-bit PPM file. The default picture exists only on the machine that built the program"
    case .impossibleWidth(let width): "the picture cannot be made \(width) pixels wide"
    case .forbiddenTarget(let path):
      "a worker writes only to kitten-NUMBER.ppm in its folder, not to \(path.debugDescription)"
    case .unwritable(let path): "the picture \(path) could not be written"
    }
  }
}

extension RemoteSignature where Input == ResizeOrder, Output == Thumbnail {
  static var resize: Self { RemoteSignature("resize", version: 1, errors: [ResizeError.self]) }
}

/// The procedure that workers execute.
///
/// The procedure is idempotent: however often it is executed, the picture is written atomically to the same file.
struct Resize: Sendable {
  static let coder = JSONProcedureCoder()

  private let pace: Duration
  private let executions: RecordFile
  private let folder: String

  init(_ arguments: Arguments) throws {
    pace = .milliseconds(arguments.pace)
    folder = arguments.folder.path
    executions = try RecordFile(arguments.folder.appending(path: "executions"))
  }

  /// Checks that a target is the path of a picture in the worker's folder, since an order may come from another machine.
  static func check(_ target: String, in folder: String) throws(ResizeError) {
    let bytes = Array(target.utf8)
    let (start, end) = (Array("\(folder)/kitten-".utf8), Array(".ppm".utf8))
    guard bytes.count > start.count + end.count, bytes.starts(with: start), bytes.suffix(end.count) == end[...],
      bytes[start.count..<bytes.count - end.count].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { throw .forbiddenTarget(target) }
  }

  var procedure: ProcedureTask<ResizeOrder, Thumbnail> {
    ProcedureTask("resize") { order in
      let execution = RemoteExecution.current
      try executions.append("\(order.width) \(execution?.delivery ?? 0) \(ProcessInfo.processInfo.processIdentifier)")
      try Self.check(order.target, in: folder)
      let picture = try Picture(contentsOf: order.source)
      for step in 0..<10 {
        execution?.report(RemoteProgress(Double(step) / 10, "resizing to \(order.width)"))
        try await Task.sleep(for: pace / 10)
      }
      let small = try picture.resized(toWidth: order.width)
      do {
        try Data(small.ppm).write(to: URL(filePath: order.target), options: .atomic)
      } catch {
        throw ResizeError.unwritable(order.target)
      }
      return Thumbnail(width: small.width, height: small.height, checksum: small.checksum)
    }
  }
}
