import Synchronization

/// The number of existing tokens, which lets a task wait until there are none.
final class InstanceCount: Sendable {
  private struct Contents {
    var count = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let contents = Mutex(Contents())

  /// Waits until the last token is released. If one leaks, the wait ends with the time limit of the tests.
  func waitUntilNone() async {
    await withCheckedContinuation { continuation in
      let isNone = contents.withLock { contents in
        if contents.count > 0 { contents.waiters.append(continuation) }
        return contents.count == 0
      }
      if isNone { continuation.resume() }
    }
  }

  private func change(by amount: Int) {
    let waiters = contents.withLock { contents in
      contents.count += amount
      guard contents.count == 0 else { return [CheckedContinuation<Void, Never>]() }
      defer { contents.waiters = [] }
      return contents.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// An object that is counted from its initialization to its deinitialization.
  final class Token: Sendable {
    private let instances: InstanceCount

    init(of instances: InstanceCount) {
      self.instances = instances
      instances.change(by: 1)
    }

    deinit {
      instances.change(by: -1)
    }
  }
}
