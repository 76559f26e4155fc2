import ProcedureKit

extension RunReport {
  private static let nameLimit = 60
  /// The maximum number of names in one list.
  private static let listLimit = 3

  /// The steps of the critical path that belong to procedures whose names begin with the same word; see ``TimelineColours/word(of:)``.
  struct Part {
    /// The name of the procedures or, if their names differ, the word with which all of them begin.
    let name: String
    /// The run that accounts for the longest step.
    let slowest: RunRecord
    /// The number of runs.
    let count: Int
    /// The part of the path's duration that the procedures account for.
    let duration: Duration
  }

  /// The longest parts of the critical path, in descending order of duration.
  var longest: [Part] {
    let runs = Dictionary(recording.runs.map { ($0.id, $0) }) { first, _ in first }
    let colours = TimelineColours(recording.runs)
    let steps = criticalPath.steps.compactMap { step in runs[step.id].map { (run: $0, duration: step.duration) } }
    let parts = Dictionary(grouping: steps) { TimelineColours.word(of: $0.run) }.map { word, steps in
      let slowest = steps.reduce(steps[0]) { $1.duration > $0.duration ? $1 : $0 }.run
      return Part(
        name: colours.name(of: slowest), slowest: slowest, count: Set(steps.map(\.run.id)).count,
        duration: steps.reduce(.zero) { $0 + $1.duration })
    }
    return parts.sorted { ($1.duration, $0.slowest.id) < ($0.duration, $1.slowest.id) }.prefix(3)
      .filter { $0.duration * 20 >= criticalPath.duration }
  }

  /// Suggestions for fixing failures and saving time, most important first.
  var advice: [String] {
    var advice = failureAdvice
    let open = recording.countedRuns.count { $0.outcome == nil }
    if open > 0 {
      advice.append(
        "Find out what keeps \(open.counting("run")) from finishing. A queue's snapshot shows what each procedure is "
          + "waiting for.")
    }
    advice += queueAdvice + waitAdvice
    if let row = criticalPath.rows.max(by: { $0.times.executing < $1.times.executing }),
      isWorthAdvice(row.times.executing)
    {
      advice.append(
        row.count == 1
          ? "Make \(quoted(row.name)) faster, or split it into parts that execute at the same time: it executed for "
            + "\(amount(row.times.executing)) on the critical path."
          : "Make the elements of \(quoted(row.name)) faster, or let more of them execute at the same time: on the "
            + "critical path, \(row.count) of them executed in sequence, taking \(amount(row.times.executing)).")
    }
    if recording.droppedCount > 0 {
      advice.append("Create the recorder with a higher limit so that no runs are dropped.")
    }
    return advice
  }

  /// Advice on which failures to fix first, based on how many runs were skipped because of each failure.
  private var failureAdvice: [String] {
    let causes = Dictionary(grouping: others.compactMap(\.cause), by: \.id).values
      .sorted { ($1.count, $0[0].id) < ($0.count, $1[0].id) }
    guard !causes.isEmpty else { return [] }
    var names = causes.prefix(Self.listLimit).map { quoted($0[0].name) }
    if causes.count > names.count { names.append((causes.count - names.count).counting("other run", "other runs")) }
    let count = causes.reduce(0) { $0 + $1.count }
    let (failures, reason) = causes.count == 1 ? ("failure", "it") : ("failures", "them")
    return [
      "Fix the \(failures) of \(names.sentenceList) first: because of \(reason), \(count.counting("run was", "runs were")) skipped."
    ]
  }

  /// Advice on how to shorten the waits on the critical path. The longest wait comes first.
  private var waitAdvice: [String] {
    var advice: [(total: Duration, text: String)] = []
    func add(_ time: (ProcedureMetrics) -> Duration, _ text: (CriticalPath.Step) -> String) {
      let steps = criticalPath.steps
      let total = steps.reduce(Duration.zero) { $0 + time($1.times) }
      guard isWorthAdvice(total), let step = steps.max(by: { time($0.times) < time($1.times) }) else { return }
      advice.append((total, text(step) + " for \(amount(total))."))
    }
    add({ $0.waiting - $0.claiming }, slotAdvice)
    add(\.claiming) { step in
      "Hold resources for a shorter time, or in fewer procedures: runs on the critical path, especially "
        + "\(quoted(step.name)), waited for resources"
    }
    add(\.evaluating) { step in
      "Make conditions faster: runs on the critical path, especially \(quoted(step.name)), waited for conditions"
    }
    add(\.paused) { step in
      "Shorten delays, or avoid retries: runs on the critical path, especially \(quoted(step.name)), paused"
    }
    return advice.sorted { $0.total > $1.total }.map(\.text)
  }

  /// Returns the number of different slots that a queue used during the recording, and the average number of bodies that were executing
  /// at a time.
  private func use(of queue: String) -> (slots: Int, average: Double) {
    let runs = recording.runs.filter { $0.queue.hasBytes(of: queue) }
    let periods = TimelinePeriods(recording, path: criticalPath)
    var time = Duration.zero
    for run in runs {
      for execution in run.executions {
        let period = execution.begin..<max(execution.end ?? recording.duration, execution.begin)
        time += [period].duration - periods.nested(in: run.id, period).duration
      }
    }
    let slots = Set(runs.flatMap { $0.executions.compactMap(\.slot) }).count
    return (slots, time.inSeconds / max(recording.duration.inSeconds, 1e-9))
  }

  /// Advice about queues whose slots were in use most of the time while, on average, at least one run was waiting.
  private var queueAdvice: [String] {
    let waits = recording.runs.reduce(into: [ByteText: Duration]()) { waits, run in
      if let times = run.metrics { waits[ByteText(run.queue), default: .zero] += times.waiting - times.claiming }
    }
    return waits.filter { $0.value > .zero && $0.value >= recording.duration }
      .sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.listLimit)
      .compactMap { queue, time in
        let (slots, average) = use(of: queue.text)
        guard average >= 0.75 * Double(slots) else { return nil }
        return
          "Allow the queue \(quoted(queue.text)) to execute more procedures at the same time, if the machine has the capacity. The queue's "
          + "\(slots.counting("slot was", "slots were")) in use most of the time, and runs waited for a slot for \(time.short) in "
          + "total."
      }
  }

  /// Returns advice for a step in which a run waited for a slot that no other run on the critical path held.
  private func slotAdvice(_ step: CriticalPath.Step) -> String {
    let queue = recording.runs.first { $0.id == step.id }?.queue ?? ""
    let (slots, average) = use(of: queue)
    let used = slots == 1 ? "1 slot" : "\(slots) different slots"
    return
      "Find out what kept the queue \(quoted(queue)) from starting runs sooner. Possible causes: bodies that block threads, or "
      + "too few processors. Over the whole recording, the queue used \(used), and \((average * 10).rounded() / 10) bodies were "
      + "executing on average. Runs on the critical path waited for a slot"
  }

  /// Returns whether a part of the critical path is long enough for a change to make a difference.
  private func isWorthAdvice(_ duration: Duration) -> Bool {
    duration > .zero && duration * 10 >= criticalPath.duration
  }

  private func amount(_ duration: Duration) -> String { "\(duration.short) (\(share(duration)))" }

  private func quoted(_ name: String) -> String { "“\(name.shortened(to: Self.nameLimit))”" }
}
