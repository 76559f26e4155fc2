import Dispatch
import TestingProcedureKit

/// A reader whose answer comes from a dispatch queue, at a time that nobody controls.
actor ForgottenDispatch: PlantedBug {
  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let answer = await withCheckedContinuation { continuation in
      switch version {
      case .broken:
        // Work that is done before the task waits makes nothing ready: in nearly all schedules, the task waits first.
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.001) { continuation.resume(returning: 7) }
      case .fixed:
        // Ends by itself; nobody cancels it.
        Task(executorPreference: env.executor) { continuation.resume(returning: 7) }
      }
    }
    env.check(answer == 7)
  }
}
