import Synchronization

/// Watches how many bodies execute at once, in all and by category.
///
/// ```swift
/// let monitor = ConcurrencyMonitor()
/// let procedure = ProcedureTask("load") { await monitor.during("disk") { await load() } }
/// // …
/// #expect(monitor.most <= 4)
/// #expect(monitor.most(in: "disk") == 1)
/// ```
///
/// It may be used from any thread; its members tell what has been so far.
public final class ConcurrencyMonitor: Sendable {
  private struct State {
    var current = 0
    var most = 0
    var total = 0
    var currentByCategory: [String: Int] = [:]
    var mostByCategory: [String: Int] = [:]
    var overlaps: Set<[String]> = []
  }

  private let state = Mutex(State())

  /// A monitor that has seen nothing.
  public init() {}

  /// The number of bodies that execute now.
  public var current: Int { state.withLock { $0.current } }

  /// The most bodies that have executed at once.
  public var most: Int { state.withLock { $0.most } }

  /// The number of bodies that have begun to execute.
  public var total: Int { state.withLock { $0.total } }

  /// The most bodies of `category` that have executed at once.
  public func most(in category: String) -> Int {
    state.withLock { $0.mostByCategory[category] ?? 0 }
  }

  /// Whether bodies of two categories, or two bodies of the same, have ever executed at once.
  public func overlapped(_ category: String, _ other: String) -> Bool {
    state.withLock { $0.overlaps.contains([category, other].sorted()) }
  }

  /// Counts `body` as executing, in all given categories, until it returns or throws.
  ///
  /// It executes where the caller does; cancelling the caller cancels it.
  ///
  /// - Throws: What `body` throws.
  public nonisolated(nonsending) func during<R>(
    _ categories: String..., body: nonisolated(nonsending) () async throws -> R
  ) async rethrows -> R {
    enter(categories)
    defer { leave(categories) }
    return try await body()
  }

  /// Counts a body as executing from now until the matching `leave`.
  public func enter(_ categories: [String] = []) {
    state.withLock { state in
      state.current += 1
      state.total += 1
      state.most = max(state.most, state.current)
      for category in categories {
        for (other, count) in state.currentByCategory where count > 0 {
          state.overlaps.insert([category, other].sorted())
        }
      }
      for category in categories {
        let count = (state.currentByCategory[category] ?? 0) + 1
        state.currentByCategory[category] = count
        state.mostByCategory[category] = max(state.mostByCategory[category] ?? 0, count)
      }
    }
  }

  /// Ends what `enter` began with the same categories.
  public func leave(_ categories: [String] = []) {
    state.withLock { state in
      state.current -= 1
      for category in categories { state.currentByCategory[category, default: 0] -= 1 }
    }
  }
}
