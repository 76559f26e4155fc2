import ProcedureKit
import Synchronization

/// A monitor that counts the bodies that are executing concurrently, in total and by category.
///
/// ```swift
/// let monitor = ConcurrencyMonitor()
/// let procedure = ProcedureTask("load") { await monitor.during("disk") { await load() } }
/// // …
/// #expect(monitor.most <= 4)
/// #expect(monitor.most(in: "disk") == 1)
/// ```
///
/// A monitor can be used from any thread.
public final class ConcurrencyMonitor: Sendable {
  private struct State {
    var current = 0
    var most = 0
    var total = 0
    var currentByCategory: [ByteText: Int] = [:]
    var mostByCategory: [ByteText: Int] = [:]
    var overlaps: Set<[ByteText]> = []
  }

  private let state = Mutex(State())

  /// Creates a monitor with all counts at zero.
  public init() {}

  /// The number of bodies that are currently executing.
  public var current: Int { state.withLock { $0.current } }

  /// The largest number of bodies that have executed concurrently so far.
  public var most: Int { state.withLock { $0.most } }

  /// The number of bodies that have started so far.
  public var total: Int { state.withLock { $0.total } }

  /// Returns the largest number of bodies of `category` that have executed concurrently so far.
  public func most(in category: String) -> Int {
    state.withLock { $0.mostByCategory[ByteText(category)] ?? 0 }
  }

  /// Returns whether bodies of the two categories have executed concurrently. The categories can be the same.
  public func overlapped(_ category: String, _ other: String) -> Bool {
    state.withLock { $0.overlaps.contains([ByteText(category), ByteText(other)].sorted()) }
  }

  /// Calls `body`, and counts it as executing in the given categories until it returns or throws.
  ///
  /// The body executes in the caller's task and on the caller's actor. Cancelling the caller cancels the body.
  ///
  /// - Throws: The error thrown by `body`.
  public nonisolated(nonsending) func during<R>(
    _ categories: String..., body: nonisolated(nonsending) () async throws -> R
  ) async rethrows -> R {
    enter(categories)
    defer { leave(categories) }
    return try await body()
  }

  /// Counts a body as executing until the matching call to `leave`.
  public func enter(_ categories: [String] = []) {
    let categories = categories.map(ByteText.init)
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

  /// Stops counting a body as executing. Pass the categories that were passed to the matching call to `enter`.
  public func leave(_ categories: [String] = []) {
    state.withLock { state in
      state.current -= 1
      for category in categories { state.currentByCategory[ByteText(category), default: 0] -= 1 }
    }
  }
}
