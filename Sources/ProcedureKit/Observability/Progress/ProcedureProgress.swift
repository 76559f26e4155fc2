/// How much of the work of a procedure is complete, and how much time it is expected to need for the rest.
public struct ProcedureProgress: Hashable, Sendable {
  /// The completed fraction of the work, from 0 to 1. It never decreases during a run.
  public internal(set) var fraction = 0.0
  /// The number of completed units, if the body reports units.
  public internal(set) var completedUnits: Int?
  /// The total number of units, if the body reports units.
  public internal(set) var totalUnits: Int?
  /// The estimated time until the run ends, based on the average speed so far and measured on the clock of the queue; `nil` while the speed
  /// is unknown.
  public internal(set) var remaining: Duration?
}

extension ProcedureProgress: CustomStringConvertible {
  /// The progress as it appears in logs, such as `45%` or `9 of 20 (45%)`.
  public var description: String {
    guard let completedUnits, let totalUnits else { return "\(percent)%" }
    return "\(completedUnits) of \(totalUnits) (\(percent)%)"
  }

  /// The completed percentage, rounded down. For example, 29 of 100 units are 29 percent, even though the `Double` nearest to 0.29 is
  /// smaller than 0.29.
  public var percent: Int { Int(fraction * 100 + 1e-9) }
}

extension ProcedureContext {
  /// The progress of the procedure. The body can report it, and any code can read it.
  public var progress: ProgressReporter { ProgressReporter(context: self) }
}

/// A reporter for the progress of a procedure.
///
/// ```swift
/// let copy = ProcedureTask("copy") { (files: [File]) in
///   for (number, file) in files.enumerated() {
///     ProcedureContext.current?.progress.report(number, of: files.count)
///     try await file.copy()
///   }
/// }
/// ```
///
/// The progress of a body with children or nodes is the weighted average of their progress; see ``Procedure/progressWeight(_:)``. Once the
/// body itself reports progress, the body counts as an additional part with weight 1. A child counts as completed when it ends, regardless
/// of its outcome. Layers, attempts, and the copies of a hedge report to the procedure that encloses them, as do procedures that the body
/// calls without a queue.
///
/// The published progress never decreases: the progress of a second attempt, which starts again from zero, becomes visible only when it
/// exceeds the progress of the first. A finished run has a progress of 1, and a run that failed or was cancelled keeps its last value. When
/// the progress of a procedure reaches a further whole percent, an event of kind ``ProcedureEvent/Kind-swift.struct/progress`` is published
/// for the procedure, and also for each enclosing procedure whose own progress reaches a further whole percent. A jump over several percent
/// causes one event. The step to 1 at the end of a run is not published as an event.
///
/// Progress tracking costs nothing for a procedure whose progress is neither reported nor read. All functions can be called from any task,
/// return quickly, and have no effect after the run ends.
public struct ProgressReporter: Sendable {
  let context: ProcedureContext

  /// Reports the completed fraction of the work.
  ///
  /// - Parameter fraction: The fraction, from 0 to 1. Values outside of this range are clamped; `nan` is ignored.
  public func report(_ fraction: Double) {
    context.run.progressNode.bodyReported(fraction)
  }

  /// Reports the number of completed units of the work.
  ///
  /// - Parameters:
  ///   - completed: The number of completed units.
  ///   - total: The total number of units; 0 means that the work is complete, and a negative number is ignored.
  public func report(_ completed: Int, of total: Int) {
    guard total >= 0 else { return }
    let fraction = total == 0 ? 1 : Double(completed) / Double(total)
    context.run.progressNode.bodyReported(fraction, completed: min(max(completed, 0), total), of: total)
  }

  /// The progress of the procedure: the current value, followed by the newest value after each change, until the run ends.
  ///
  /// A slow reader misses intermediate values. The stream supports a single consumer, and ends if the task that iterates over it is
  /// cancelled. A body releases its slot while it waits for a value.
  public var values: AsyncStream<ProcedureProgress> { context.run.progressValues }
}

extension ProcedureHandle {
  /// The progress of the procedure: the current value, followed by the newest value after each change, until the run ends.
  ///
  /// ```swift
  /// for await progress in handle.progress {
  ///   print(progress, progress.remaining.map { "\($0) left" } ?? "")
  /// }
  /// ```
  ///
  /// The last value of a finished run has the fraction 1. Each access creates a new subscription. A slow reader misses intermediate values,
  /// but does not delay any run. Children that had ended before progress was first reported or read are not included. The stream supports a
  /// single consumer, and ends if the task that iterates over it is cancelled. A body releases its slot while it waits for a value.
  ///
  /// To learn how the progress of several runs is combined, see ``ProgressReporter``.
  public var progress: AsyncStream<ProcedureProgress> { run.progressValues }
}

extension Procedure {
  /// Returns the procedure with a weight, which determines how much the procedure contributes to the progress of its graph or parent.
  ///
  /// The default is 1. If several weights are set, the last one applies. See ``ProgressReporter``.
  ///
  /// - Parameter weight: The weight, in any unit that suits all nodes or children, such as seconds, bytes or files. Passing a negative or
  ///   infinite weight traps. A procedure with weight 0 does not contribute to the progress.
  /// - Returns: The procedure with the weight.
  public func progressWeight(_ weight: Double) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    require(
      weight >= 0 && weight.isFinite,
      "Procedure \"\(task.name)\": the progress weight must be finite and at least 0, got \(weight)")
    return task.relabelled { $0.weight = weight }
  }
}
