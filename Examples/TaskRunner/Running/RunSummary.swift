import ProcedureKit
import ProcedureKitProcess

/// The results of the tasks in a run.
struct RunSummary: Sendable {
  var taskCount = 0
  var doneCount = 0
  var upToDateCount = 0
  var failedCount = 0
  /// The first failure, if any.
  var failure: (any Error)?

  /// The number of tasks that were not started, or that were stopped.
  var leftOutCount: Int { taskCount - doneCount - upToDateCount - failedCount }

  /// Returns a one-line summary.
  func text(_ duration: Duration) -> String {
    var parts = ["\(doneCount) done", "\(upToDateCount) up to date"]
    if failedCount > 0 { parts.append("\(failedCount) failed") }
    if leftOutCount > 0 { parts.append("\(leftOutCount) not done") }
    return parts.joined(separator: ", ") + " in \(duration.inSeconds)"
  }

  /// The exit status of the runner.
  ///
  /// If a task failed, this is the status of the first failed command as a shell would report it; 124 after a timeout; 126 or 127 if a
  /// program could not be started; and 1 otherwise.
  var status: Int32 {
    guard let failure else { return leftOutCount == 0 ? 0 : 1 }
    if let error = failure as? ProcessError {
      if let status = error.status { return status.shellStatus }
      return error.kind == .notFound ? 127 : error.kind == .statusLost ? 1 : 126
    }
    return (failure as? ProcedureError)?.kind == .timedOut ? 124 : 1
  }
}

extension Duration {
  /// The duration in seconds as it is shown to the user, for example `0.12 s`.
  var inSeconds: String {
    let hundredths = Int((self / .milliseconds(10)).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) s"
  }
}
