import Synchronization

/// Internal. One who waits for its turn, and may leave before it comes: whichever is first counts, and only that.
final class Place: Sendable {
  private enum State {
    case waiting(Waiter?)
    case called
    case left
  }

  private let state = Mutex(State.waiting(nil))

  /// Gives it its turn. Says whether it takes it: not if it has left, or had its turn.
  @discardableResult
  func call() -> Bool {
    end(as: .called)
  }

  /// Waits until it is called; cancelling the caller makes it leave at once.
  ///
  /// - Returns: Whether it was called: not if it has left before.
  func wait() async -> Bool {
    await withTaskCancellationHandler {
      await Waiter.suspend { waiter in
        state.withLock { state in
          guard case .waiting = state else { return false }
          state = .waiting(waiter)
          return true
        }
      }
    } onCancel: {
      leave()
    }
    return state.withLock { if case .called = $0 { true } else { false } }
  }

  /// Whether it does not wait any more.
  var isOver: Bool {
    state.withLock { if case .waiting = $0 { false } else { true } }
  }

  /// Gives its turn up, if it has not come.
  func leave() {
    _ = end(as: .left)
  }

  private func end(as end: State) -> Bool {
    let (isFirst, waiter) = state.withLock { state -> (Bool, Waiter?) in
      guard case .waiting(let waiter) = state else { return (false, nil) }
      state = end
      return (true, waiter)
    }
    waiter?.resume()
    return isFirst
  }

  /// Waits for the call, whoever is cancelled meanwhile.
  func waitUntilCalled() async {
    await Waiter.suspend { waiter in
      state.withLock { state in
        guard case .waiting = state else { return false }
        state = .waiting(waiter)
        return true
      }
    }
  }

  /// Whether the wait was given up before the call.
  var wasLeft: Bool {
    state.withLock { if case .left = $0 { true } else { false } }
  }
}
