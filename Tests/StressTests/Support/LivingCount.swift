import Synchronization

/// How many tokens there are, and a way to wait until there is none.
final class LivingCount: Sendable {
  private struct Contents {
    var count = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let contents = Mutex(Contents())

  /// Returns when the last token has gone; if one leaks, never: the time limit of the tests tells.
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

  /// Is counted from its beginning to its end.
  final class Token: Sendable {
    private let living: LivingCount

    init(of living: LivingCount) {
      self.living = living
      living.change(by: 1)
    }

    deinit {
      living.change(by: -1)
    }
  }
}
