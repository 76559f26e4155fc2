public import Foundation
public import ProcedureKit

extension ProcedureHandle {
  /// Makes a `Progress` of Foundation that shows how far the procedure is, for views and for a tree of such objects.
  ///
  /// ```swift
  /// let progress = Progress(totalUnitCount: 3)
  /// progress.addChild(handle.makeFoundationProgress(), withPendingUnitCount: 2)
  /// ```
  ///
  /// The object counts thousandths, and has the estimated time that remains under `estimatedTimeRemainingKey`. Cancelling the object cancels the
  /// procedure. The object is changed by a task of no actor, in order; dropping the object ends this. Of a procedure that has
  /// failed or was cancelled, the object stays as it was.
  ///
  /// - Returns: A new object.
  public func makeFoundationProgress() -> Progress {
    let mirror = Progress(totalUnitCount: 1_000)
    mirror.isCancellable = true
    mirror.cancellationHandler = { [self] in cancel() }
    let values = progress
    // Ends with the run, or with the first value after the object has been dropped. Nobody has to cancel it.
    Task { [weak mirror] in
      for await value in values {
        guard let mirror else { return }
        mirror.completedUnitCount = Int64((value.fraction * 1_000).rounded(.down))
        let seconds = value.remaining.map { NSNumber(value: $0 / .seconds(1)) }
        mirror.setUserInfoObject(seconds, forKey: .estimatedTimeRemainingKey)
      }
    }
    return mirror
  }
}
