/// The trace of a failing schedule, with the order in which its tasks ran and the events of each task.
public struct ScheduleTrace: Hashable, Sendable, CustomStringConvertible {
  /// Consecutive steps that one task took at the same place in the code.
  public struct Stretch: Hashable, Sendable {
    /// The numbers of the steps, counting from `1`.
    public var steps: ClosedRange<Int>

    /// The number of the task; see `ExplorationFailure.order` for how tasks are numbered.
    public var task: Int

    /// Whether the explorer chose this task even though another task would have continued in the default order.
    public var isSwitch = false

    /// The actor on which the task runs; `nil` outside actors, and if the actor is unknown. The name is the actor's type, followed by a
    /// number if the schedule uses several actors of that type.
    public var actor: String?

    /// The procedure whose body the task executes; `nil` if there is none.
    public var procedure: String?

    /// The place at which the task was resumed, in the code under test if possible; `nil` if the place is unknown.
    ///
    /// If the task has just been started, this is the place at which the task was created.
    public var place: SourcePlace?

    /// The events of the task, in order: the tasks that it started or woke, the procedures that it executed, its notes and its failed
    /// checks.
    public var events: [String] = []

    /// Adds the next step to the stretch if both belong to the same task and place, and returns whether it was added. The runtime's own
    /// steps, such as the second half of a `Task.yield`, have no place, and are grouped with the steps around them.
    fileprivate mutating func extend(to step: Stretch) -> Bool {
      guard task == step.task, steps.upperBound + 1 == step.steps.lowerBound, !step.isSwitch,
        !hasPlace || !step.hasPlace || isAtPlace(of: step)
      else { return false }
      if !hasPlace { (actor, procedure, place) = (step.actor, step.procedure, step.place) }
      steps = steps.lowerBound...step.steps.upperBound
      events += step.events
      return true
    }

    /// The number of the only step, or the numbers of the first and last steps.
    var stepsInWords: String { "\(steps.lowerBound)" + (steps.count > 1 ? "–\(steps.upperBound)" : "") }

    private var hasPlace: Bool { place != nil || actor != nil }

    private func isAtPlace(of step: Stretch) -> Bool {
      (place, actor, procedure) == (step.place, step.actor, step.procedure)
    }
  }

  /// An event in which one task starts or wakes another.
  public struct Wake: Hashable, Sendable {
    /// The number of the step in which the waker starts or wakes `task`, counting from `1`.
    public var step: Int

    /// The number of the task that starts or wakes `task`.
    public var waker: Int

    /// The number of the task that becomes ready.
    public var task: Int

    /// Whether `task` becomes ready for the first time.
    public var isStart: Bool
  }

  /// The starts and wakes in order.
  public var wakes: [Wake] = []

  /// A step, with the code in which it began and the code in which its events occurred, as chains of addresses; see `ResumePoint`.
  private struct Step: Hashable {
    /// The step as a stretch of its own. Its place has not been looked up.
    var stretch: Stretch
    var chain: [UInt]
    /// The call stack of the code that created the task, if this is the task's first step.
    var creation: [UInt]
    /// The call stacks of the code that caused the events, keyed by the positions of the events in `stretch.events`.
    var calls: [Int: [UInt]] = [:]

    var chains: [[UInt]] { [chain, creation] + calls.values }

    func located(in map: CodeMap) -> Stretch {
      var stretch = stretch
      // A task that has just been created has not yet been suspended in the code under test.
      stretch.place =
        map.place(of: chain, in: .codeUnderTest) ?? map.place(of: creation, in: .codeUnderTest)
        ?? map.place(of: chain, in: .procedureKit)
      for (event, calls) in calls {
        if let place = map.place(of: calls, in: .codeUnderTest) { stretch.events[event] += " (\(place.location))" }
      }
      return stretch
    }
  }

  private var steps: [Step] = []

  /// Whether the trace contains no steps.
  var isEmpty: Bool { steps.isEmpty }

  /// The stretches in order.
  ///
  /// The first access to this property looks up the places in the code, which can take several seconds in a large program.
  public var stretches: [Stretch] { stretches { _ in true } }

  /// Returns the stretches of the steps that satisfy a predicate. The predicate receives each step as a stretch without a place. The places
  /// of the other steps are not looked up.
  func stretches(where isIncluded: (_ step: Stretch) -> Bool) -> [Stretch] {
    let steps = steps.filter { isIncluded($0.stretch) }
    let map = CodeMap(steps.flatMap(\.chains))
    var stretches = steps.reduce(into: [Stretch]()) { stretches, step in
      let step = step.located(in: map)
      let last = stretches.index(before: stretches.endIndex)
      if last < 0 || !stretches[last].extend(to: step) { stretches.append(step) }
    }
    // The first actor of a type is numbered, too, if there are others.
    let actors = Set(stretches.compactMap(\.actor))
    for index in stretches.indices {
      if let actor = stretches[index].actor, actors.contains("\(actor) 2") { stretches[index].actor = "\(actor) 1" }
    }
    return stretches
  }

  /// The names of tasks, keyed by the numbers of the tasks. The `Task.name` of a task is known only if the task started or woke another
  /// task, or caused certain other events, such as a note. A task that the runtime created to end a real-time wait of task `3` is named
  /// `timer of 3`.
  public var names: [Int: String] = [:]

  /// Returns the number of the task, followed by its name if the name is known. If it is not, the number of the body is followed by
  /// `(body)`.
  public func title(of task: Int) -> String {
    if let name = names[task] { return "\(task) \"\(name)\"" }
    return task == 0 ? "0 (body)" : "\(task)"
  }

  /// A table with one line for each stretch. A long trace is abridged in the middle.
  public var description: String {
    let stretches = stretches
    let shown = 40
    let ends = stretches.count > shown ? [stretches.prefix(shown / 2), stretches.suffix(shown / 2)] : [stretches[...]]
    // If no task runs on an actor, the column for actors would be empty, so it is left out.
    let noActor = stretches.contains { $0.actor != nil } ? "–" : ""
    var rows = [["step", "task", "actor", "procedure", "resumed or created at", "events"]]
    rows += ends.joined().map { cells(of: $0, noActor: noActor) }
    for column in rows[0].indices.reversed() where rows.dropFirst().allSatisfy({ $0[column].isEmpty }) {
      for row in rows.indices { rows[row].remove(at: column) }
    }
    let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    var lines = rows.map { row in
      let cells = zip(row, widths).enumerated().map { column, cell in
        let gap = String(repeating: " ", count: cell.1 - cell.0.count)
        return column == 0 ? gap + cell.0 : cell.0 + gap
      }
      let line = "  " + cells.joined(separator: "  ")
      return String(line[...(line.lastIndex { $0 != " " } ?? line.startIndex)])
    }
    if ends.count > 1 {
      let left = (stretches.count - shown).counting("more line")
      lines.insert("  … \(left)", at: 1 + shown / 2)
    }
    return lines.joined(separator: "\n")
  }

  /// Returns the cells of the table row for `stretch`.
  private func cells(of stretch: Stretch, noActor: String) -> [String] {
    [
      stretch.stepsInWords, title(of: stretch.task) + (stretch.isSwitch ? " (switch)" : ""), stretch.actor ?? noActor,
      stretch.procedure.map { "\"\($0)\"" } ?? "",
      stretch.place.map { "\($0.location) \($0.function)" } ?? "", stretch.events.joined(separator: "; "),
    ].map { $0.replacing("\n", with: " ") }
  }

  /// The trace as JSON: an array of objects with `from`, `to`, `task`, `isSwitch`, `events` and, if known, `name`, `actor`, `procedure`,
  /// `function`, `file` and `line`.
  public var json: String {
    let objects = stretches.map { stretch in
      let facts: [(String, String?)] = [
        ("name", names[stretch.task]), ("actor", stretch.actor), ("procedure", stretch.procedure),
        ("function", stretch.place?.function), ("file", stretch.place?.file),
      ]
      let known = facts.compactMap { key, value in value.map { "\"\(key)\":\(Self.quoted($0))," } }.joined()
      let line = stretch.place.map { "\"line\":\($0.line)," } ?? ""
      let events = stretch.events.map(Self.quoted).joined(separator: ",")
      return "{\"from\":\(stretch.steps.lowerBound),\"to\":\(stretch.steps.upperBound),"
        + "\"task\":\(stretch.task),\"isSwitch\":\(stretch.isSwitch),\(known)\(line)\"events\":[\(events)]}"
    }
    return "[\(objects.joined(separator: ","))]"
  }

  /// Returns the description of a task that has not ended.
  func stuck(_ task: Int) -> StuckTask {
    let own = steps.map(\.stretch).filter { $0.task == task }
    let start = wakes.first { $0.task == task && $0.isStart }
    return StuckTask(
      task: task, title: title(of: task), starter: start.map { title(of: $0.waker) },
      firstStep: start?.step ?? 0, lastStep: own.last?.steps.upperBound ?? 0,
      lastEvent: own.last { !$0.events.isEmpty }?.events.last)
  }

  /// Records that a step begins. The place of the step is looked up in `chain` and in `creation`, the call stack of the code that created
  /// the task.
  mutating func didRun(
    _ task: Int, step: Int, isSwitch: Bool = false, actor: String? = nil, procedure: String? = nil, chain: [UInt] = [],
    creation: [UInt] = []
  ) {
    let stretch = Stretch(
      steps: step...step, task: task, isSwitch: isSwitch, actor: actor, procedure: procedure)
    steps.append(Step(stretch: stretch, chain: chain, creation: creation))
  }

  /// Adds an event of the running task, with the call stack of the code that caused the event.
  mutating func add(_ event: String, calls: [UInt] = []) {
    guard let last = steps.indices.last else { return }
    if !calls.isEmpty { steps[last].calls[steps[last].stretch.events.count] = calls }
    steps[last].stretch.events.append(event)
  }

  /// Records that the running task has begun to execute the body of a procedure.
  mutating func didBegin(_ procedure: String) {
    guard let last = steps.indices.last else { return }
    steps[last].stretch.procedure = steps[last].stretch.procedure ?? procedure
  }
}

extension ScheduleTrace {
  /// The trace in the Trace Event Format, which <https://ui.perfetto.dev> and `chrome://tracing` can display. The trace contains a lane for
  /// each task, a slice for each stretch of steps, and an arrow for each start and wake. Each step takes one microsecond.
  public var perfetto: String {
    let stretches = stretches
    let tasks = Set(stretches.map(\.task)).sorted()
    var events = [#"{"name":"process_name","ph":"M","pid":1,"args":{"name":"schedule"}}"#]
    for task in tasks {
      let name = Self.quoted(title(of: task))
      events.append(#"{"name":"thread_name","ph":"M","pid":1,"tid":\#(task),"args":{"name":\#(name)}}"#)
      events.append(#"{"name":"thread_sort_index","ph":"M","pid":1,"tid":\#(task),"args":{"sort_index":\#(task)}}"#)
    }
    for stretch in stretches {
      let name = Self.quoted(stretch.place?.function ?? stretch.events.first ?? "steps")
      let list = stretch.events.map(Self.quoted).joined(separator: ",")
      events.append(
        #"{"name":\#(name),"ph":"X","pid":1,"tid":\#(stretch.task),"ts":\#(stretch.steps.lowerBound),"#
          + #""dur":\#(stretch.steps.count),"args":{"events":[\#(list)]}}"#)
    }
    for (number, wake) in wakes.enumerated() {
      guard let target = stretches.first(where: { $0.task == wake.task && $0.steps.upperBound > wake.step }) else {
        continue
      }
      let end = max(target.steps.lowerBound, wake.step + 1)
      let name = wake.isStart ? "starts" : "wakes"
      let common = #""name":"\#(name)","cat":"wake","id":\#(number),"pid":1"#
      events.append(#"{\#(common),"ph":"s","tid":\#(wake.waker),"ts":\#(wake.step)}"#)
      events.append(#"{\#(common),"ph":"f","bp":"e","tid":\#(wake.task),"ts":\#(end)}"#)
    }
    return #"{"displayTimeUnit":"ms","traceEvents":[\#(events.joined(separator: ",\n"))]}"#
  }

  static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case _ where scalar.value < 32:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
