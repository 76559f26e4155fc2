/// The trace of a failing schedule, which contains the order of the tasks and the events of each task.
public struct ScheduleTrace: Hashable, Sendable, CustomStringConvertible {
  /// Consecutive steps of one task.
  public struct Stretch: Hashable, Sendable {
    /// The numbers of the steps, counted from `1`.
    public var steps: ClosedRange<Int>

    /// The task; see `ExplorationFailure.order`.
    public var task: Int

    /// The events of the task, in order: the tasks that it started or woke, its notes and its failed checks.
    public var events: [String]
  }

  /// An event in which one task starts or wakes another.
  public struct Wake: Hashable, Sendable {
    /// The step of the waker, counted from `1`.
    public var step: Int

    /// The task that starts or wakes `task`.
    public var waker: Int

    /// The task that becomes ready.
    public var task: Int

    /// Whether `task` becomes ready for the first time.
    public var isStart: Bool
  }

  /// The starts and wakes in order.
  public var wakes: [Wake] = []

  /// The stretches in order.
  public var stretches: [Stretch] = []

  /// The names of the tasks that started or woke another task and have a `Task.name`.
  public var names: [Int: String] = [:]

  /// Returns the task's number, and its name if there is one.
  public func title(of task: Int) -> String {
    if let name = names[task] { return "\(task) \"\(name)\"" }
    return task == 0 ? "0 (body)" : "\(task)"
  }

  /// A table with one line for each stretch. A long trace is abridged in the middle.
  public var description: String {
    let width = stretches.map { title(of: $0.task).count }.max() ?? 0
    let rows = stretches.map { stretch in
      let steps = "\(stretch.steps.lowerBound)" + (stretch.steps.count > 1 ? "–\(stretch.steps.upperBound)" : "")
      let title = title(of: stretch.task)
      let indent = String(repeating: " ", count: max(0, 7 - steps.count))
      let gap = String(repeating: " ", count: width - title.count)
      let events = stretch.events.joined(separator: "; ")
      return "  \(indent)\(steps)  \(title)\(gap)  \(events)".replacing("\n", with: " ")
    }
    let shown = 40
    guard rows.count > shown else { return rows.joined(separator: "\n") }
    let left = "        … \((rows.count - shown).counting("more switch", "more switches"))"
    return (rows.prefix(shown / 2) + [left] + rows.suffix(shown / 2)).joined(separator: "\n")
  }

  /// The trace as JSON: an array of objects with `from`, `to`, `task`, `name` and `events`.
  public var json: String {
    let objects = stretches.map { stretch in
      let name = names[stretch.task].map { "\"name\":\(Self.quoted($0))," } ?? ""
      let events = stretch.events.map(Self.quoted).joined(separator: ",")
      return "{\"from\":\(stretch.steps.lowerBound),\"to\":\(stretch.steps.upperBound),"
        + "\"task\":\(stretch.task),\(name)\"events\":[\(events)]}"
    }
    return "[\(objects.joined(separator: ","))]"
  }

  /// Returns the description of a task that has not ended.
  func stuck(_ task: Int) -> StuckTask {
    let own = stretches.filter { $0.task == task }
    let start = wakes.first { $0.task == task && $0.isStart }
    return StuckTask(
      task: task, title: title(of: task), starter: start.map { title(of: $0.waker) },
      firstStep: start?.step ?? 0, lastStep: own.last?.steps.upperBound ?? 0,
      lastEvent: own.last { !$0.events.isEmpty }?.events.last)
  }

  mutating func didRun(_ task: Int, step: Int) {
    if let last = stretches.indices.last, stretches[last].task == task {
      stretches[last].steps = stretches[last].steps.lowerBound...step
    } else {
      stretches.append(Stretch(steps: step...step, task: task, events: []))
    }
  }

  /// Adds an event of the running task.
  mutating func add(_ event: String) {
    guard let last = stretches.indices.last else { return }
    stretches[last].events.append(event)
  }
}

extension ScheduleTrace {
  /// The trace in the Trace Event Format, which <https://ui.perfetto.dev> and `chrome://tracing` can display. The trace contains a lane for
  /// each task, a slice for each stretch of steps, and an arrow for each start and wake. Each step takes one microsecond.
  public var perfetto: String {
    let tasks = Set(stretches.map(\.task)).sorted()
    var events = [#"{"name":"process_name","ph":"M","pid":1,"args":{"name":"schedule"}}"#]
    for task in tasks {
      let name = Self.quoted(title(of: task))
      events.append(#"{"name":"thread_name","ph":"M","pid":1,"tid":\#(task),"args":{"name":\#(name)}}"#)
      events.append(#"{"name":"thread_sort_index","ph":"M","pid":1,"tid":\#(task),"args":{"sort_index":\#(task)}}"#)
    }
    for stretch in stretches {
      let name = Self.quoted(stretch.events.first ?? "steps")
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
