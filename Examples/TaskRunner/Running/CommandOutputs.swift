import ProcedureKit
import ProcedureKitProcess
import Synchronization

/// The latest output of each command, keyed by the task's name as it appears in events. Lines are in the order in which they were read.
final class CommandOutputs: Sendable {
  /// The maximum number of bytes of a command's output to keep. Up to twice as many may be stored temporarily.
  private static let limit = 256 << 10

  private struct Text {
    var lines: [String] = []
    var byteCount = 0
    var droppedCount = 0

    mutating func append(_ line: String) {
      lines.append(line)
      byteCount += line.utf8.count + 1
      guard byteCount > 2 * CommandOutputs.limit else { return }
      var count = 0
      while byteCount > CommandOutputs.limit, count < lines.count {
        byteCount -= lines[count].utf8.count + 1
        count += 1
      }
      lines.removeFirst(count)
      droppedCount += count
    }
  }

  private let texts = Mutex<[SystemText: Text]>([:])

  /// Removes the output of any earlier attempt to run a task.
  func begin(_ task: SystemText) {
    texts.withLock { $0[task] = nil }
  }

  func append(_ line: ProcessLine, of task: SystemText) {
    texts.withLock { $0[task, default: Text()].append(line.text) }
  }

  /// Removes and returns the output of a task.
  func take(_ task: SystemText) -> String {
    guard let text = texts.withLock({ $0.removeValue(forKey: task) }) else { return "" }
    let dropped = text.droppedCount == 0 ? [] : ["… \(text.droppedCount) earlier lines omitted"]
    return (dropped + text.lines).joined(separator: "\n")
  }
}
