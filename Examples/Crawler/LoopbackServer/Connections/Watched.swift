import Synchronization

/// A value that any thread can change. Tasks can wait for it to change.
final class Watched<Value: Sendable>: Sendable {
  enum Progress {
    case met, notYet, never
  }

  private struct Waiter {
    let condition: @Sendable (Value) -> Progress
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct Contents {
    var value: Value
    var waiters: [Int: Waiter] = [:]
    var nextID = 0
  }

  private let contents: Mutex<Contents>

  init(_ value: Value) {
    contents = Mutex(Contents(value: value))
  }

  var value: Value { contents.withLock { $0.value } }

  /// Changes the value, and then resumes the tasks whose conditions are met.
  @discardableResult func update<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    let (result, ended) = contents.withLock { contents in
      let result = body(&contents.value)
      var ended: [(CheckedContinuation<Void, any Error>, Progress)] = []
      for (id, waiter) in contents.waiters {
        let progress = waiter.condition(contents.value)
        guard progress != .notYet else { continue }
        contents.waiters[id] = nil
        ended.append((waiter.continuation, progress))
      }
      return (result, ended)
    }
    for (continuation, progress) in ended { Self.resume(continuation, progress) }
    return result
  }

  /// Waits until the value meets a condition.
  ///
  /// - Throws: `CancellationError` if the task is cancelled; ``ServerError`` if the condition can no longer be met.
  func wait(_ condition: @escaping @Sendable (Value) -> Progress) async throws {
    let id = contents.withLock { contents in
      contents.nextID += 1
      return contents.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let progress: Progress? = contents.withLock { contents in
          // Cancellation is checked under the lock, so that a later cancellation finds the waiter.
          if Task.isCancelled { return nil }
          let progress = condition(contents.value)
          if progress == .notYet { contents.waiters[id] = Waiter(condition: condition, continuation: continuation) }
          return progress
        }
        guard let progress else { return continuation.resume(throwing: CancellationError()) }
        if progress != .notYet { Self.resume(continuation, progress) }
      }
    } onCancel: {
      let waiter = contents.withLock { $0.waiters.removeValue(forKey: id) }
      waiter?.continuation.resume(throwing: CancellationError())
    }
  }

  private static func resume(_ continuation: CheckedContinuation<Void, any Error>, _ progress: Progress) {
    if progress == .met { continuation.resume() } else { continuation.resume(throwing: ServerError.stopped) }
  }
}
