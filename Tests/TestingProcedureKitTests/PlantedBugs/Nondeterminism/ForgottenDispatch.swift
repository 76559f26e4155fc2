import Dispatch
import TestingProcedureKit

/// A reader whose answer comes from a dispatch queue, at a time that nobody controls.
actor ForgottenDispatch: PlantedBug {
  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let answer = await withCheckedContinuation { continuation in
      switch version {
      case .broken: DispatchQueue.global().async { continuation.resume(returning: 7) }
      case .fixed:
        // Ends by itself; nobody cancels it.
        Task(executorPreference: env.executor) { continuation.resume(returning: 7) }
      }
    }
    env.check(answer == 7)
  }
}
