public import ProcedureKit

/// The chain of runs that determined the duration of a recording. Shortening any other run would not have shortened the recording.
///
/// The path is found by working backwards in time, starting with the run that ended last. If a body awaited a run, the path continues with
/// the awaited run. If a run waited for a slot, the path continues with the run that released the slot. If a run waited for dependencies,
/// the path continues with the dependency that ended last. At the beginning of a nested run, child or node, the path continues with the
/// enclosing run. The steps adjoin each other, so their durations add up to the time from the beginning of the path to its end. If a run
/// waited for something else, such as a resource, a condition or the end of a pause, the wait is part of that run's step.
public struct CriticalPath: Sendable {
  /// A section of the path that belongs to a single run.
  public struct Step: Sendable {
    /// The ID of the run.
    public let id: ProcedureID
    /// The name of the procedure.
    public let name: String
    /// The part of the path's duration that this step accounts for.
    public var duration: Duration { times.total }
    /// The part of the duration during which the body was executing.
    public var executing: Duration { times.executing }
    /// The duration, divided into phases.
    public internal(set) var times: ProcedureMetrics
  }

  /// A single step, or the combined steps of a collection's elements.
  public struct Row: Sendable {
    /// The name of the procedure or collection.
    public let name: String
    /// The number of runs that the row represents.
    public internal(set) var count: Int
    /// The total duration of the row's runs on the path, divided into phases.
    public internal(set) var times: ProcedureMetrics
    /// The run with the longest duration. Its times are the totals for all of its steps in the row.
    public internal(set) var slowest: Step
    /// The part of the path's duration that the row's runs account for.
    public var duration: Duration { times.total }
  }

  /// The steps of the path, in chronological order. A run can have several steps if its body awaited several other runs in sequence.
  public let steps: [Step]
  /// The steps, in chronological order. The elements of a `map` are combined into one row.
  public let rows: [Row]

  /// The sum of the durations of all steps.
  public var duration: Duration { steps.reduce(.zero) { $0 + $1.duration } }

  /// Finds the path in a recording.
  ///
  /// - Complexity: O(n log n) for n runs and waits.
  public init(_ recording: RunRecording) {
    var search = PathSearch(recording.runs)
    steps = search.path()
    rows = Self.rows(of: steps, in: search)
  }

  private static func rows(of steps: [Step], in search: PathSearch) -> [Row] {
    struct Collection: Hashable {
      let parent: ProcedureID?
      let name: ByteText
    }
    var rows: [Row] = []
    var indices: [Collection: Int] = [:]
    // An element whose body awaits other runs has several steps.
    var elements: [ProcedureID: Step] = [:]
    for step in steps {
      let run = search.lives[step.id]?.run
      let collection = run?.collection.map { Collection(parent: run?.parent, name: ByteText($0)) }
      guard let collection else {
        rows.append(Row(name: step.name, count: 1, times: step.times, slowest: step))
        continue
      }
      var element = step
      let earlier = elements[step.id]
      if let earlier { element.times += earlier.times }
      elements[step.id] = element
      if let index = indices[collection] {
        if earlier == nil { rows[index].count += 1 }
        rows[index].times += step.times
        if element.duration > rows[index].slowest.duration { rows[index].slowest = element }
      } else {
        indices[collection] = rows.count
        rows.append(Row(name: collection.name.text, count: 1, times: step.times, slowest: step))
      }
    }
    return rows
  }
}
