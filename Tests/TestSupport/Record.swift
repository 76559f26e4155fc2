import Synchronization
import Testing

/// Values in order, to be looked at later and waited for.
package final class Record<Value: Sendable>: Sendable {
  private let contents = Mutex<[Value]>([])

  package init() {}

  package var values: [Value] { contents.withLock { $0 } }

  package func append(_ value: Value) { contents.withLock { $0.append(value) } }

  /// Waits until there are so many values.
  package func wait(for count: Int) async throws {
    try await eventually { values.count >= count }
  }
}
