import Dispatch
import TestingProcedureKit

/// A reader whose answer comes from a dispatch queue, at an uncontrolled time.
actor ForgottenDispatch: PlantedBug {
  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let answer = await withCheckedContinuation { continuation in
      switch version {
      case .broken:
        // Work that ends before the task waits makes no task ready. In nearly all schedules, the task waits first.
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.001) { continuation.resume(returning: 7) }
      case .fixed:
        // The task ends on its own and is never cancelled.
        Task(executorPreference: env.executor) { continuation.resume(returning: 7) }
      }
    }
    env.check(answer == 7)
  }
}
