import TestingProcedureKit

/// A token that is passed to a waiter that has just given up: the token then has no owner, and all others wait forever.
actor LostToken: PlantedBug {
  private var isFree = true
  private var waiters = 0
  private var isHandedOver = false
  private let takesBack: Bool

  init(takesBack: Bool) { self.takesBack = takesBack }

  private func take() -> Bool {
    defer { isFree = false }
    return isFree
  }

  private func release() {
    if waiters > 0 { isHandedOver = true } else { isFree = true }
  }

  private func startWaiting() { waiters += 1 }

  private func takeHandedOver() -> Bool {
    guard isHandedOver else { return false }
    isHandedOver = false
    waiters -= 1
    return true
  }

  private func giveUp() {
    waiters -= 1
    guard takesBack, isHandedOver else { return }
    isHandedOver = false
    isFree = true
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let token = LostToken(takesBack: version == .fixed)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        guard await token.take() else { return }
        await Task.yield()
        await token.release()
      }
      group.addTask {
        await token.startWaiting()
        for _ in 0..<2 {
          await Task.yield()
          if await token.takeHandedOver() { return await token.release() }
        }
        await Task.yield()
        await token.giveUp()
      }
      group.addTask {
        while await !token.take() { await Task.yield() }
        await token.release()
      }
    }
  }
}
