import Synchronization

/// Internal. One who waits at one place after another, and may leave for good.
final class Visitor: Sendable {
  private struct State {
    var hasLeft = false
    var place: Place?
  }

  private let state = Mutex(State())

  /// Leaves where it waits, and wherever it would wait later.
  func leave() {
    let place = state.withLock { state in
      state.hasLeft = true
      return state.place
    }
    place?.leave()
  }

  /// Waits until it is called at this place; cancelling the caller makes it leave the place at once.
  ///
  /// - Returns: Whether it was called: not if it has left before.
  func wait(at place: Place) async -> Bool {
    let hasLeft = state.withLock { state in
      state.place = place
      return state.hasLeft
    }
    if hasLeft { place.leave() }
    return await place.wait()
  }
}
