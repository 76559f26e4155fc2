/// How far a procedure is.
public struct ProcedureProgress: Hashable, Sendable {
  /// The part of the work that is done, from 0 to 1. Never smaller than in an earlier value of the same run.
  public internal(set) var fraction = 0.0
  /// How many units are done, if the body reports units.
  public internal(set) var completedUnits: Int?
  /// How many units there are, if the body reports units.
  public internal(set) var totalUnits: Int?
  /// How long the rest takes if the work goes on as fast as so far, on the clock of the queue; `nil` while nothing is known about
  /// the speed.
  public internal(set) var remaining: Duration?
}

extension ProcedureProgress: CustomStringConvertible {
  /// The progress in logs: `45 %`, `9 of 20 (45 %)`.
  public var description: String {
    guard let completedUnits, let totalUnits else { return "\(percent) %" }
    return "\(completedUnits) of \(totalUnits) (\(percent) %)"
  }

  /// The whole percents that are done, rounded down: 29 of 100 are 29, though the nearest fraction is smaller than 0.29.
  public var percent: Int { Int(fraction * 100 + 1e-9) }
}

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
/// when it has ended, in whatever way. Attempts, layers, copies of a hedge, and procedures that the body calls without a queue report as the
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

extension ProcedureHandle {
  /// How far the procedure is: the present value, then the newest whenever there is a new one, until the run ends.
  ///
  /// ```swift
  /// for await progress in handle.progress {
  ///   print(progress, progress.remaining.map { "\($0) left" } ?? "")
  /// }
  /// ```
  ///
  /// The last value of a run that has finished has the fraction 1. Each access is a subscription of its own; a slow reader misses values in between and delays no run.
  /// Children that had ended before anybody reported or read progress do not count. Cancelling the task that iterates the stream
  /// ends the stream, which is for one consumer. A body that waits for a value lends its slot.
  ///
  /// See ``ProgressReporter`` for how progress adds up.
  public var progress: AsyncStream<ProcedureProgress> { ProgressReader.values(of: run) }
}

extension Procedure {
  /// Returns the procedure with a weight, by which its progress counts in that of its graph or parent. The default is 1.
  ///
  /// Of several weights, the last one counts. See ``ProgressReporter``.
  ///
  /// - Parameter weight: The weight, in whatever unit suits all parts: seconds, bytes, files. A negative or infinite weight traps; a procedure of weight 0 does
  ///   not count.
  /// - Returns: The procedure with the weight.
  public func progressWeight(_ weight: Double) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    require(
      weight >= 0 && weight.isFinite,
      "Procedure \"\(task.name)\": its progress weight is \(weight); a finite number from 0 on is needed")
    return task.relabelled { $0.weight = weight }
  }
}
