import Synchronization
package import Testing

/// A record of values in the order in which they were appended. Tests inspect the values later, or wait for a number of them.
package final class Record<Value: Sendable>: Sendable {
  private let contents = Mutex<[Value]>([])

  package init() {}

  package var values: [Value] { contents.withLock { $0 } }

  package func append(_ value: Value) { contents.withLock { $0.append(value) } }

  /// Waits until there are at least `count` values.
  package func wait(for count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await eventually(sourceLocation: sourceLocation) { values.count >= count }
  }
}
