import ProcedureKit
import Synchronization

/// The tasks that read the feeds of a recorder, one for each feed.
final class FeedReaders: Sendable {
  private struct Reader {
    let feed: QueueFeed
    let task: Task<Void, Never>
  }

  private struct State {
    var readers: [Int: Reader] = [:]
    var count = 0
    var isStopped = false
  }

  private let state = Mutex(State())
  private let priority: TaskPriority?

  /// - Parameter priority: The priority of the tasks; `nil` uses the priority of the task that calls ``read(_:_:)``.
  init(priority: TaskPriority? = nil) {
    self.priority = priority
  }

  deinit {
    for reader in state.withLock({ $0.readers.values }) { reader.feed.stop() }
  }

  /// Reads a feed until it ends, or until `stop`. Has no effect after `stop`.
  ///
  /// - Parameters:
  ///   - feed: The feed.
  ///   - read: Called with the number of the feed, from 1; must call the feed's `next` until it returns `nil`.
  func read(_ feed: QueueFeed, _ read: @escaping @Sendable (_ number: Int) async -> Void) {
    state.withLock { state in
      guard !state.isStopped else { return }
      state.count += 1
      let number = state.count
      let task = ReaderTask.start(priority: priority) { [weak self] in
        await read(number)
        // The lock becomes available only after the reader has been stored.
        self?.state.withLock { $0.readers[number] = nil }
      }
      state.readers[number] = Reader(feed: feed, task: task)
    }
  }

  /// Stops reading, and returns when all earlier events have been read. Cancelling the caller has no effect.
  func stop() async {
    let readers = state.withLock { state in
      state.isStopped = true
      return Array(state.readers.values)
    }
    for reader in readers { reader.feed.stop() }
    for reader in readers { await reader.task.value }
  }
}
