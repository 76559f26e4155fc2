import TestingProcedureKit

/// An exclusion whose cancelled waiters release a claim that they never had.
///
/// Invariant: the code that removes a continuation from `waiters` resumes it.
actor ReleaseByNonOwner: PlantedBug {
  private struct Waiter {
    var id: Int
    var continuation: UnsafeContinuation<Bool, Never>
  }

  private var isHeld = false
  private var waiters: [Waiter] = []
  private var inside = 0
  private var most = 0

  /// Returns whether the exclusion was acquired; `false` if the wait was cancelled.
  private func acquire(_ id: Int) async -> Bool {
    if Task.isCancelled { return false }
    guard isHeld else {
      isHeld = true
      return true
    }
    return await withUnsafeContinuation { waiters.append(Waiter(id: id, continuation: $0)) }
  }

  private func release() {
    if waiters.isEmpty { isHeld = false } else { waiters.removeFirst().continuation.resume(returning: true) }
  }

  private func cancel(_ id: Int) {
    guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
    waiters.remove(at: index).continuation.resume(returning: false)
  }

  private func enter() {
    inside += 1
    most = max(most, inside)
  }

  private func leave() {
    inside -= 1
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let exclusion = ReleaseByNonOwner()
    await withTaskGroup(of: Void.self) { group in
      for id in 0..<3 {
        group.addTask {
          let isOwner = await exclusion.acquire(id)
          if isOwner {
            await exclusion.enter()
            await Task.yield()
            await exclusion.leave()
          }
          if isOwner || version == .broken { await exclusion.release() }
        }
      }
      group.addTask { await exclusion.cancel(1) }
    }
    env.check(await exclusion.most == 1, "one holder at a time")
  }
}
