public import Foundation
public import ProcedureKit

extension ProcedureHandle {
  /// Returns a Foundation `Progress` that shows the progress of the procedure, for use in views and in trees of such objects.
  ///
  /// ```swift
  /// let progress = Progress(totalUnitCount: 3)
  /// progress.addChild(handle.makeFoundationProgress(), withPendingUnitCount: 2)
  /// ```
  ///
  /// The object counts thousandths, and provides the estimated remaining time under `estimatedTimeRemainingKey`. Cancelling the object
  /// cancels the procedure. A task that is not isolated to any actor updates the object, in order, until the object is released. If the
  /// procedure fails or is cancelled, the object keeps its last value.
  ///
  /// - Returns: A new object.
  public func makeFoundationProgress() -> Progress {
    let mirror = Progress(totalUnitCount: 1_000)
    mirror.isCancellable = true
    mirror.cancellationHandler = { [self] in cancel() }
    let values = progress
    // The task ends with the run, or with the first value after the object has been released, so it need not be cancelled.
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
