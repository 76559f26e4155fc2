import ProcedureKit
import ProcedureKitDiagnostics
import TestingProcedureKit

extension RunRecording {
  /// Returns a recording that could come from a queue, with runs that execute one after another in slots, retries, children and failures.
  static func random(count: Int, slots: Int, seed: UInt64, names: [String] = ["load", "resize", "write"])
    -> RunRecording
  {
    var generator = SeededGenerator(seed: seed)
    var free = Array(repeating: Duration.zero, count: slots)
    var runs: [RunRecord] = []
    let ids = Self.identities(count)
    for id in ids {
      let slot = Int.random(in: 0..<slots, using: &generator)
      let begin = free[slot] - .microseconds(Int.random(in: 0...500, using: &generator))
      var run = RunRecord(id: id, name: names.randomElement(using: &generator)!, queue: "q", begin: max(begin, .zero))
      for attempt in 1...Int.random(in: 1...2, using: &generator) {
        let start = free[slot] + .microseconds(Int.random(in: 0...50, using: &generator))
        let end = start + .microseconds(Int.random(in: 0...900, using: &generator))
        run.executions.append(.init(attempt: attempt, slot: slot, begin: start, end: end))
        free[slot] = end
      }
      run.end = free[slot]
      run.outcome = RunRecord.Outcome.allCases.randomElement(using: &generator)
      run.reason = Bool.random(using: &generator) ? names[0] : nil
      if let other = runs.randomElement(using: &generator), other.end! <= run.begin { run.dependencies = [other.id] }
      runs.append(run)
    }
    return RunRecording(runs: runs, duration: free.max() ?? .zero)
  }

  /// Returns identities of runs, which only queues can create.
  static func identities(_ count: Int) -> [ProcedureID] {
    let queue = ProcedureQueue("identities")
    return (0..<count).map { _ in queue.add(ProcedureTask("one") {}).id }
  }
}

/// Names that break a picture, a page or a line if they are not escaped.
let hostileNames = [
  "\"quoted\" 'twice'", "two\nlines\r\n", "tab\tand \u{0} and \u{1b}[31m", "👩‍👩‍👧 emoji", "<b>[brackets]{}</b>",
  "</script></svg>]]>",
  "&amp; & \\", String(repeating: "long ", count: 200_000), "", "مرحبا",
  "a" + String(repeating: "\u{301}", count: 10_000), "\u{202E}abc",
]
