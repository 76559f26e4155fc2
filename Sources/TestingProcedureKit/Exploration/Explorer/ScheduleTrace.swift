/// The course of a failing schedule: which strand ran when, and what it did.
public struct ScheduleTrace: Hashable, Sendable, CustomStringConvertible {
  /// Consecutive steps of one strand.
  public struct Stretch: Hashable, Sendable {
    /// The numbers of the steps, from `1`.
    public var steps: ClosedRange<Int>

    /// The strand; see `ExplorationFailure.order`.
    public var strand: Int

    /// What the strand did, in order: the strands that it started or woke, its notes and its failed checks.
    public var events: [String]
  }

  /// A start or a wake of a strand by another one.
  public struct Wake: Hashable, Sendable {
    /// The step of the waker, from `1`.
    public var step: Int

    /// The strand that starts or wakes `strand`.
    public var waker: Int

    /// The strand that becomes ready.
    public var strand: Int

    /// Whether `strand` becomes ready for the first time.
    public var isStart: Bool
  }

  /// The starts and wakes in order.
  public var wakes: [Wake] = []

  /// The stretches in order.
  public var stretches: [Stretch] = []

  /// The names of tasks with a `Task.name` that started or woke another task.
  public var names: [Int: String] = [:]

  /// Returns the strand as text: its number, and its name if there is one.
  public func title(of strand: Int) -> String {
    if let name = names[strand] { return "\(strand) \"\(name)\"" }
    return strand == 0 ? "0 (body)" : "\(strand)"
  }

  /// A table with one line for each stretch. A long course is abridged in the middle.
  public var description: String {
    let width = stretches.map { title(of: $0.strand).count }.max() ?? 0
    let rows = stretches.map { stretch in
      let steps = "\(stretch.steps.lowerBound)" + (stretch.steps.count > 1 ? "–\(stretch.steps.upperBound)" : "")
      let title = title(of: stretch.strand)
      let indent = String(repeating: " ", count: max(0, 7 - steps.count))
      let gap = String(repeating: " ", count: width - title.count)
      let events = stretch.events.joined(separator: "; ")
      return "  \(indent)\(steps)  \(title)\(gap)  \(events)".replacing("\n", with: " ")
    }
    let shown = 40
    guard rows.count > shown else { return rows.joined(separator: "\n") }
    let left = "        … \((rows.count - shown).counting("further switch", "further switches"))"
    return (rows.prefix(shown / 2) + [left] + rows.suffix(shown / 2)).joined(separator: "\n")
  }

  /// The trace as JSON: an array of objects with `from`, `to`, `strand`, `name` and `events`.
  public var json: String {
    let objects = stretches.map { stretch in
      let name = names[stretch.strand].map { "\"name\":\(Self.quoted($0))," } ?? ""
      let events = stretch.events.map(Self.quoted).joined(separator: ",")
      return "{\"from\":\(stretch.steps.lowerBound),\"to\":\(stretch.steps.upperBound),"
        + "\"strand\":\(stretch.strand),\(name)\"events\":[\(events)]}"
    }
    return "[\(objects.joined(separator: ","))]"
  }

  /// Returns the description of a strand that has not ended.
  func stuck(_ strand: Int) -> StuckStrand {
    let own = stretches.filter { $0.strand == strand }
    let start = wakes.first { $0.strand == strand && $0.isStart }
    return StuckStrand(
      strand: strand, title: title(of: strand), starter: start.map { title(of: $0.waker) },
      firstStep: start?.step ?? 0, lastStep: own.last?.steps.upperBound ?? 0,
      lastEvent: own.last { !$0.events.isEmpty }?.events.last)
  }

  mutating func didRun(_ strand: Int, step: Int) {
    if let last = stretches.indices.last, stretches[last].strand == strand {
      stretches[last].steps = stretches[last].steps.lowerBound...step
    } else {
      stretches.append(Stretch(steps: step...step, strand: strand, events: []))
    }
  }

  /// Adds an event of the running strand.
  mutating func add(_ event: String) {
    guard let last = stretches.indices.last else { return }
    stretches[last].events.append(event)
  }
}

extension ScheduleTrace {
  /// The trace in the Trace Event Format, which <https://ui.perfetto.dev> and `chrome://tracing` show: a lane for each
  /// strand, a slice for each stretch of steps, and an arrow for each start and wake. One step lasts one microsecond.
  public var perfetto: String {
    let strands = Set(stretches.map(\.strand)).sorted()
    var events = [#"{"name":"process_name","ph":"M","pid":1,"args":{"name":"schedule"}}"#]
    for strand in strands {
      let name = Self.quoted(title(of: strand))
      events.append(#"{"name":"thread_name","ph":"M","pid":1,"tid":\#(strand),"args":{"name":\#(name)}}"#)
      events.append(#"{"name":"thread_sort_index","ph":"M","pid":1,"tid":\#(strand),"args":{"sort_index":\#(strand)}}"#)
    }
    for stretch in stretches {
      let name = Self.quoted(stretch.events.first ?? "steps")
      let list = stretch.events.map(Self.quoted).joined(separator: ",")
      events.append(
        #"{"name":\#(name),"ph":"X","pid":1,"tid":\#(stretch.strand),"ts":\#(stretch.steps.lowerBound),"#
          + #""dur":\#(stretch.steps.count),"args":{"events":[\#(list)]}}"#)
    }
    for (number, wake) in wakes.enumerated() {
      guard let target = stretches.first(where: { $0.strand == wake.strand && $0.steps.upperBound > wake.step }) else {
        continue
      }
      let end = max(target.steps.lowerBound, wake.step + 1)
      let name = wake.isStart ? "starts" : "wakes"
      let common = #""name":"\#(name)","cat":"wake","id":\#(number),"pid":1"#
      events.append(#"{\#(common),"ph":"s","tid":\#(wake.waker),"ts":\#(wake.step)}"#)
      events.append(#"{\#(common),"ph":"f","bp":"e","tid":\#(wake.strand),"ts":\#(end)}"#)
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
