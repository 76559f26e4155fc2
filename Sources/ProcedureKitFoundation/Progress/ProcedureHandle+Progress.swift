public import Foundation
public import ProcedureKit

extension ProcedureHandle {
  /// Returns a Foundation `Progress` object that follows the progress of the procedure. Use it in views or as a child of another `Progress`
  /// object.
  ///
  /// ```swift
  /// let progress = Progress(totalUnitCount: 3)
  /// progress.addChild(handle.makeFoundationProgress(), withPendingUnitCount: 2)
  /// ```
  ///
  /// The object measures the work in thousandths. The estimated remaining time is stored in the object's `userInfo` under
  /// `estimatedTimeRemainingKey`. Cancelling the object cancels the procedure. Until the object is released, a task updates it with the
  /// procedure's progress values in the order in which they arrive. The task is not isolated to any actor. If the procedure fails or is
  /// cancelled, the object keeps its last value.
  ///
  /// - Returns: A new object.
  public func makeFoundationProgress() -> Progress {
    let mirror = Progress(totalUnitCount: 1_000)
    mirror.isCancellable = true
    mirror.cancellationHandler = { [self] in cancel() }
    let values = progress
    // The task ends when the run ends, or when it receives the first value after the object has been released, so it does not have to be
    // cancelled.
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
