/// A failing schedule, with the data needed to run it again.
public struct ExplorationFailure: Error, Sendable, CustomStringConvertible {
  /// The seed of the exploration.
  public var seed: UInt64

  /// The number of the failing schedule, starting at `0`.
  public var schedule: Int

  /// The strategy of the exploration.
  public var strategy: ExplorationStrategy

  /// The problems of the simplest failing schedule that was found. The array is never empty.
  public var problems: [ExplorationProblem]

  /// The replay string of the failing schedule, for `exploreSchedules(strategy: .replay("pk2:…")) { … }`.
  public var replay: String

  /// The task that ran at each step of the failing schedule, identified by its number.
  ///
  /// Tasks are numbered in the order in which their first jobs become ready. The body is task `0`. A job that does not belong to a `Task`,
  /// such as the job in which an actor starts to serve its callers, is attributed to the task that enqueued the job. If that task is
  /// unknown, the job has its own number.
  public var order: [Int]

  /// The notes recorded with `ExplorationEnvironment.note`.
  public var notes: [String]

  /// The number of choices that deviate from the default order, both in the original failing schedule and in the simplified one that is
  /// reported.
  public var deviations: (found: Int, reported: Int)

  /// Whether the explorer chose between different tasks in the original failing schedule. If the value is `false`, the failure does not
  /// depend on the explorer's choices.
  public var hasChoices: Bool

  /// Whether the reported schedule failed in the same way when the explorer ran it again. The value is `nil` if this is unknown, for
  /// example in a replay, if a step did not end, if the same choices led to a different run, or if work escaped the exploration's control.
  public var failsAgain: Bool?

  /// The trace of the failing schedule; `nil` if `failsAgain` is `nil` and the schedule was not a replay.
  public var trace: ScheduleTrace?

  /// The name of the current test, which consists of the module, the suites and the function; an empty string outside Swift Testing.
  var test = ""

  /// The name of the test attachment that contains the failure as an ``html`` page; `nil` outside Swift Testing.
  public internal(set) var attachment: String?

  /// The files that were written for the failure: its ``html`` page, its ``json``, and its trace for Perfetto.
  ///
  /// The files are written to the directory named by the environment variable `PROCEDUREKIT_TRACES`. If the variable is not set, no files
  /// are written.
  public var files: [String] = []

  /// The error that the body threw; `nil` if it did not throw.
  public var thrownError: (any Error)? {
    problems.lazy.compactMap { if case .thrown(let error) = $0 { error } else { nil } }.first
  }

  /// The deadlock; `nil` if the schedule ended differently.
  public var deadlock: Deadlock? {
    problems.lazy.compactMap { if case .deadlock(let deadlock) = $0 { deadlock } else { nil } }.first
  }

  /// A one-line summary that states what fails and how many switches the failing order contains. Each switch is a deviation from the
  /// default order, in which each task runs as long as it can.
  public var summary: String { summary(of: "an order of your tasks") }

  /// Returns a summary that says which `order` was found, such as `an order of your tasks`.
  func summary(of order: String) -> String {
    let count = deviations.reported
    let switches = count == 0 ? "without a switch" : "with \(count.counting("switch", "switches"))"
    return "There is \(order) in which \(problems.first?.summary ?? "the exploration fails"), \(switches)"
  }

  /// A report that begins with the `summary` and the problems, continues with the steps and the notes, and ends with the data needed to
  /// repeat the schedule.
  public var description: String { (["\(summary):"] + details).joined(separator: "\n") }

  /// The lines of the report after the first one.
  var details: [String] {
    var lines = problems.map { "  \($0)" }
    if let trace, !trace.isEmpty {
      lines.append("\(trace)")
      let isNowhere = trace.stretches.allSatisfy { $0.place == nil }
      if isNowhere { lines.append("  source locations are not available with this runtime or in this build") }
    } else {
      lines.append("  order of tasks (\(order.count.counting("step"))): \(Self.abridged(order))")
    }
    lines += notes.map { "  note: \($0)" }
    lines += files.map { "  file: \($0)" }
    if let attachment {
      lines.append("  page: \(attachment), attached to the test; to save it, run swift test --attachments-path .")
    }
    if let failsAgain {
      lines.append("  this order \(failsAgain ? "failed again" : "did not fail again") when the explorer repeated it")
    }
    if !hasChoices {
      lines.append(
        "  the explorer had no choice between tasks in this schedule, so the failure does not depend on its choices")
    }
    let found = deviations.found.counting("switch", "switches")
    let removed = deviations.found > deviations.reported ? ", of which only the relevant ones were kept" : ""
    lines.append("  found in schedule \(schedule), with \(found)\(removed)")
    lines.append("  strategy: \(strategy)")
    lines.append("  seed: \(seed)")
    lines.append("  to run only this order, use strategy: .replay(\"\(replay)\")")
    return lines
  }

  private static func abridged(_ order: [Int]) -> String {
    let shown = order.suffix(200).map(String.init).joined(separator: " ")
    return order.count > 200 ? "… \(shown)" : shown
  }
}

extension ExplorationFailure {
  /// The failure as JSON. The object has the keys `seed`, `schedule`, `strategy`, `problems`, `replay`, `failsAgain`, `switches`,
  /// `hasChoices`, `order`, `notes`, and `trace` (see `ScheduleTrace.json`).
  public var json: String {
    let quoted = ScheduleTrace.quoted
    let members = [
      #""seed":\#(seed)"#, #""schedule":\#(schedule)"#, #""strategy":\#(quoted("\(strategy)"))"#,
      #""problems":[\#(problems.map { quoted("\($0)") }.joined(separator: ","))]"#,
      #""replay":\#(quoted(replay))"#, #""failsAgain":\#(failsAgain.map { "\($0)" } ?? "null")"#,
      #""switches":\#(deviations.reported)"#, #""hasChoices":\#(hasChoices)"#,
      #""order":[\#(order.map(String.init).joined(separator: ","))]"#,
      #""notes":[\#(notes.map(quoted).joined(separator: ","))]"#, #""trace":\#(trace?.json ?? "null")"#,
    ]
    return "{\(members.joined(separator: ","))}"
  }

  /// Writes the failure's HTML page, its JSON, and its trace for Perfetto to the directory named by the environment variable
  /// `PROCEDUREKIT_TRACES`. Nothing is written if the variable is not set, or if the files cannot be created.
  mutating func writeFiles() {
    guard let directory = TestProcess.environment["PROCEDUREKIT_TRACES"], !directory.isEmpty else { return }
    writeFiles(to: directory)
  }

  /// The name of the failure's files, without an extension.
  ///
  /// The name depends on the test, because different tests can fail in the same order.
  var fileName: String { "exploration-\(seed)-\(schedule)-\(ReplayCode.digest(of: test + replay))" }

  mutating func writeFiles(to directory: String) {
    let name = "\(directory)/\(fileName)"
    var texts = [("\(name).html", html), ("\(name).json", json)]
    if let trace { texts.append(("\(name).perfetto.json", trace.perfetto)) }
    files = texts.filter { (try? TestProcess.write($0.1, toFile: $0.0)) != nil }.map(\.0)
  }
}

/// An expectation that was not met.
public struct FailedCheck: Error, Hashable, Sendable, CustomStringConvertible {
  /// The comment of the check.
  public var comment: String

  /// The file of the check, as `Module/File.swift`.
  public var fileID: String

  /// The line of the check.
  public var line: UInt

  /// The comment, followed by the file and the line.
  public var description: String {
    "\(comment) (\(fileID):\(line))"
  }
}

/// The error that is thrown when an exploration is started within the body of another exploration.
///
/// Without this error, the two explorations could wait for each other forever. The inner one would wait for a permit that the outer one
/// holds, while the outer one would wait for a thread that it does not control.
struct NestedExploration: Error, CustomStringConvertible {
  var description: String {
    "an exploration was started within the body of another exploration. "
      + "Start the inner exploration before or after the outer one, or call the body of the inner exploration directly."
  }
}
