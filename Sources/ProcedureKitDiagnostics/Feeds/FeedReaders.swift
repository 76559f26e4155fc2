import ProcedureKit
import Synchronization

/// The tasks that read a recorder's feeds, one for each feed.
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

  /// Creates an object that has no feeds to read yet.
  ///
  /// - Parameter priority: The priority of the tasks. If it is `nil`, each task has the priority of the task that calls ``read(_:_:)``.
  init(priority: TaskPriority? = nil) {
    self.priority = priority
  }

  deinit {
    for reader in state.withLock({ $0.readers.values }) { reader.feed.stop() }
  }

  /// Starts reading a feed. Reading continues until the feed ends or `stop` is called. Calling this function after `stop` has no effect.
  ///
  /// - Parameters:
  ///   - feed: The feed.
  ///   - read: A closure that reads the feed: it must call `feed.next` until `nil` is returned. The closure receives the number of the
  ///     feed, starting at 1.
  func read(_ feed: QueueFeed, _ read: @escaping @Sendable (_ number: Int) async -> Void) {
    state.withLock { state in
      guard !state.isStopped else { return }
      state.count += 1
      let number = state.count
      let task = ReaderTask.start(priority: priority) { [weak self] in
        await read(number)
        // By the time this task acquires the lock, its reader has been stored, because the lock is held until then.
        self?.state.withLock { $0.readers[number] = nil }
      }
      state.readers[number] = Reader(feed: feed, task: task)
    }
  }

  /// Stops reading and returns once all events published before the call have been read. Cancelling the caller has no effect.
  func stop() async {
    let readers = state.withLock { state in
      state.isStopped = true
      return Array(state.readers.values)
    }
    for reader in readers { reader.feed.stop() }
    for reader in readers { await reader.task.value }
  }
}
