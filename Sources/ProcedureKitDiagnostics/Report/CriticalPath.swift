public import ProcedureKit

/// The chain of runs that determined the duration of a recording: shortening any other run would not have shortened the whole recording.
///
/// The path ends with the run that ended last, and is followed backwards in time. At each moment, it leads to what the path last waited
/// for: from a body that awaited another run to that run; from a run that waited for a slot to the run that released the slot; from a run
/// that waited for dependencies to the dependency that ended last; and from a nested run, a child or a node to the enclosing run. The
/// durations of all steps add up to the total time. A wait that does not lead to a run, such as a wait for a resource, a condition or a
/// pause, belongs to the run that waited.
public struct CriticalPath: Sendable {
  /// One run on the path, for a part of its duration.
  public struct Step: Sendable {
    /// The run.
    public let id: ProcedureID
    /// The name of the procedure.
    public let name: String
    /// The part of the path's duration that the run accounts for.
    public var duration: Duration { times.total }
    /// The part of the duration during which the body was executing.
    public var executing: Duration { times.executing }
    /// What the duration consists of.
    public internal(set) var times: ProcedureMetrics
  }

  /// A step, or all steps of the elements of one collection.
  public struct Row: Sendable {
    /// The name of the procedure, or of the collection.
    public let name: String
    /// The number of runs that the row represents.
    public internal(set) var count: Int
    /// What the durations of all these runs together consist of.
    public internal(set) var times: ProcedureMetrics
    /// The run with the longest duration. Its times are the sums over its steps in the row.
    public internal(set) var slowest: Step
    /// The part of the path's duration that these runs account for.
    public var duration: Duration { times.total }
  }

  /// The runs, in chronological order. A body that awaited several other runs in turn is listed several times.
  public let steps: [Step]
  /// The steps, in chronological order, with the elements of one `map` combined into one row.
  public let rows: [Row]

  /// The sum of the durations of all steps.
  public var duration: Duration { steps.reduce(.zero) { $0 + $1.duration } }

  /// Finds the path in a recording. O(n log n) for n runs and waits.
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
