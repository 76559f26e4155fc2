import Foundation
import Synchronization
import Testing

/// A trace that was read by a JSON parser.
struct TraceFile {
  struct Line: Decodable {
    struct Arguments: Decodable {
      let name: String?
      let error: String?
      let id: String?
    }

    /// The key of an arrow is a number, and that of a wait is the identity of its run.
    enum Key: Decodable, Hashable {
      case text(String)
      case number(Int)

      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = try (try? container.decode(Int.self)).map { .number($0) } ?? .text(container.decode(String.self))
      }
    }

    let ph: String
    let pid: Int
    let tid: Int
    let ts: Double
    let name: String?
    let id: Key?
    let args: Arguments?
  }

  let lines: [Line]

  init(_ data: Data) throws {
    lines = try JSONDecoder().decode([Line].self, from: data)
  }

  /// Reads each line of a file that was cut off separately. The last line may be incomplete.
  static func wholeLines(of data: Data) throws -> [Line] {
    try data.split(separator: UInt8(ascii: "\n")).dropLast().map { line in
      let object = line.drop { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "[") }
      return try JSONDecoder().decode(Line.self, from: Data(object))
    }
  }

  func lines(_ phase: String) -> [Line] { lines.filter { $0.ph == phase } }

  /// The invalid slices: those that end without a beginning, do not end, or end before they begin.
  var problems: [String] {
    var problems: [String] = []
    var open: [String: [Double]] = [:]
    for line in lines where ["B", "E", "b", "e"].contains(line.ph) {
      let isExecution = "BE".contains(line.ph)
      let key = isExecution ? "\(line.pid) \(line.tid)" : "\(line.id!)"
      if "Bb".contains(line.ph) {
        if !(open[key] ?? []).isEmpty { problems.append("two slices at once in \(key)") }
        open[key, default: []].append(line.ts)
      } else if let begin = open[key]?.popLast() {
        if line.ts < begin { problems.append("a slice of \(key) ends before its beginning") }
      } else {
        problems.append("\(line.ph) of \(key) without a beginning")
      }
    }
    return problems + open.filter { !$0.value.isEmpty }.map { "\($0.key) does not end" }
  }
}

/// The bytes of a trace, in memory.
final class TraceBytes: Sendable {
  private let bytes = Mutex(Data())
  var data: Data { bytes.withLock { $0 } }
  func append(_ data: Data) { bytes.withLock { $0 += data } }
}
