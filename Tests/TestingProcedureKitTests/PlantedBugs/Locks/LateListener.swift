import TestingProcedureKit

/// A promise whose waiting task asks "is it kept?" and says "tell me" in two lockings: one that is kept in between tells
/// nobody.
enum LateListener: PlantedBug {
  /// Invariant: a continuation is resumed by whoever takes it out of `listeners`. (That it may stay there is the bug.)
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
