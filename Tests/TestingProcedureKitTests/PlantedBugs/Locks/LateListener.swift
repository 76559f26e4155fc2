import TestingProcedureKit

/// A promise whose waiting task checks the state and registers a listener under separate locks. A promise that is kept in
/// between does not notify the listener.
enum LateListener: PlantedBug {
  /// Invariant: the code that removes a continuation from `listeners` resumes it. (That it may stay there is the bug.)
  private final class Promise: Sendable {
    private struct State {
      var isKept = false
      var listeners: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = ExploredMutex(State())

    func keep() {
      let listeners = state.withLock { state in
        state.isKept = true
        return state.listeners
      }
      for listener in listeners { listener.resume() }
    }

    func wait(_ version: Version) async {
      if version == .broken, state.withLock({ $0.isKept }) { return }
      await withUnsafeContinuation { listener in
        let isKept = state.withLock { state in
          let isKept = version == .fixed && state.isKept
          if !isKept { state.listeners.append(listener) }
          return isKept
        }
        if isKept { listener.resume() }
      }
    }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let promise = Promise()
    async let waiting: Void = promise.wait(version)
    async let keeping: Void = promise.keep()
    _ = await (waiting, keeping)
  }
}
