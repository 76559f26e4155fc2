/// How far the job is, and what to show of it. A pure value: told what happened, it says what to print.
struct ProgressMeter {
  /// How a step ended.
  enum Ending: Equatable {
    case done, failed, skipped, cancelled
  }

  let stepCount: Int
  private(set) var finishedCount = 0
  private(set) var cancelledCount = 0

  /// Steps that execute now, the latest last.
  private(set) var executing: [String] = []

  init(stepCount: Int) {
    self.stepCount = stepCount
  }

  mutating func stepStarted(_ name: String) {
    executing.append(name)
  }

  /// - Returns: A line for those who want one for each step that came to something.
  mutating func stepFinished(_ name: String, _ ending: Ending) -> String? {
    if let index = executing.firstIndex(of: name) { executing.remove(at: index) }
    finishedCount += 1
    if ending == .cancelled { cancelledCount += 1 }
    if ending == .skipped || ending == .cancelled { return nil }
    let width = "\(stepCount)".count
    let number = "\(finishedCount)"
    let padding = String(repeating: " ", count: max(0, width - number.count))
    return "[\(padding)\(number)/\(stepCount)] \(name)\(ending == .done ? "" : ": \(ending)")"
  }

  /// One line for all that was cancelled, if anything was.
  var cancelledLine: String? {
    cancelledCount == 0 ? nil : "\(cancelledCount) of \(stepCount) steps were cancelled"
  }

  /// One line that shows everything, at most so many columns long.
  func bar(columnCount: Int) -> String {
    let width = 24
    let filled = stepCount == 0 ? width : width * finishedCount / stepCount
    let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    let line = "\(bar) \(finishedCount)/\(stepCount)" + (executing.last.map { "  \($0)" } ?? "")
    return String(line.prefix(max(0, columnCount)))
  }
}
