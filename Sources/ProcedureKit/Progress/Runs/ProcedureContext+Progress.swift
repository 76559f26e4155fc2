extension ProcedureContext {
  /// The progress of the procedure, to be reported by the body, and read by anybody.
  public var progress: ProgressReporter { ProgressReporter(context: self) }
}

/// Tells how far a procedure is.
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
/// A body that starts others is as far as they are: children and the nodes of a graph add up by their weights, see
/// ``Procedure/progressWeight(_:)``, where the body itself, once it reports, counts as one more with weight 1. A child counts as done
/// when it has ended, in whatever way. Attempts, levels, copies of a hedge, and procedures that the body calls without a queue report as the
/// procedure around them.
///
/// What is shown never goes back: a second attempt that begins again is shown when it is further than the first. A run that has
/// finished is at 1; of one that has failed or was cancelled, the last value stays. Each whole percent is an event,
/// ``ProcedureEvent/Kind-swift.struct/progress``, of the procedure and of each around it.
///
/// A procedure that neither reports nor is read costs nothing. All functions can be called from any task, return soon, and have no effect after the
/// run has ended.
public struct ProgressReporter: Sendable {
  let context: ProcedureContext

  /// Reports the part of the work that is done.
  ///
  /// - Parameter fraction: The part, from 0 to 1. Values outside are taken as the nearer of both; `nan` is ignored.
  public func report(_ fraction: Double) {
    context.run.progressPart.bodyReported(fraction)
  }

  /// Reports how many units of the work are done.
  ///
  /// - Parameters:
  ///   - completed: The number of units that are done.
  ///   - total: The number of all units; 0 stands for work that is done, and a negative number is ignored.
  public func report(_ completed: Int, of total: Int) {
    guard total >= 0 else { return }
    let fraction = total == 0 ? 1 : Double(completed) / Double(total)
    context.run.progressPart.bodyReported(fraction, completed: min(max(completed, 0), total), of: total)
  }

  /// The progress of the procedure: the present value, then the newest whenever there is a new one, until the run ends.
  ///
  /// A slow reader misses values in between. Cancelling the task that iterates the stream ends the stream, which is for one consumer. A body
  /// that waits for a value lends its slot.
  public var values: AsyncStream<ProcedureProgress> { ProgressReader.values(of: context.run) }
}
