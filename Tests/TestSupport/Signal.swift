import Synchronization

/// A flag that tasks can wait for. Tests use it to enforce an order without sleeping.
package final class Signal: Sendable {
  private struct Contents {
    var isSet = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let contents = Mutex(Contents())

  package init() {}

  package var isSet: Bool { contents.withLock { $0.isSet } }

  package func set() {
    let waiters = contents.withLock { contents in
      contents.isSet = true
      defer { contents.waiters = [] }
      return contents.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits until the flag is set. Cancellation has no effect.
  package func wait() async {
    await withCheckedContinuation { continuation in
      let isSet = contents.withLock { contents in
        if !contents.isSet { contents.waiters.append(continuation) }
        return contents.isSet
      }
      if isSet { continuation.resume() }
    }
  }
}

/// Waits until the current task is cancelled.
package func untilCancelled() async {
  let cancelled = Signal()
  await withTaskCancellationHandler {
    await cancelled.wait()
  } onCancel: {
    cancelled.set()
  }
}

/// A value behind a lock.
package final class Box<Value: Sendable>: Sendable {
  private let contents: Mutex<Value>

  package init(_ value: Value) { contents = Mutex(value) }

  package var value: Value { contents.withLock { $0 } }

  @discardableResult
  package func update<R: Sendable>(_ change: @Sendable (inout Value) -> R) -> R {
    contents.withLock { change(&$0) }
  }
}

/// An error that tests throw, and recognize by its number.
package struct TestError: Error, Equatable {
  package var code: Int

  package init(code: Int = 0) { self.code = code }
}
