/// The events of one queue, for a tool that writes or draws them, and that must receive all events before it ends.
///
/// A cancelled iteration over ``ProcedureQueue/events`` ends immediately. A feed that is stopped still returns the earlier events, and
/// then ends:
///
/// ```swift
/// let feed = queue.feed()
/// let reader = Task { while let event = await feed.next() { print(event) } }
/// try await queue.run(job)
/// feed.stop()
/// await reader.value
/// ```
///
/// A feed does not retain its queue, and ends with the events of the queue. Dropping the feed ends the subscription.
public struct QueueFeed: Sendable {
  /// The name of the queue; `"no queue"` for procedures that are called without a queue.
  public let queueName: String
  /// The instant at which the feed began, on the clock of the queue. A tool that draws several queues can align them by these instants.
  public let start: ProcedureInstant
  private let subscription: EventSubscription<ProcedureEvent>
  private let isStopped = Locked(false)

  init(_ core: QueueCore, bufferingNewest newest: Int) {
    queueName = core.name
    start = core.time.now
    subscription = core.broadcaster.subscribe(limit: core.eventLimit(newest: newest))
  }

  /// Returns the next event, and waits if there is none.
  ///
  /// Cancelling the caller ends the wait. At most one task at a time may call this function.
  ///
  /// - Returns: The event; `nil` after the last one, if the feed was stopped, or if the caller was cancelled.
  @concurrent public func next() async -> ProcedureEvent? {
    while true {
      let isLast = isStopped.withLock { $0 }
      if let event = subscription.take() { return event }
      if isLast { return nil }
      var wait = EventWait.notAtAll
      await withTaskCancellationHandler {
        await Waiter.suspend { waiter in
          wait = subscription.register(waiter)
          // A stop before this registration has resumed no reader.
          if wait == .forEvents, isStopped.withLock({ $0 }) { subscription.wake() }
          return wait == .forEvents
        }
      } onCancel: {
        subscription.wake()
      }
      if wait == .inVain { return subscription.take() }
    }
  }

  /// Ends the feed after the events that the queue has sent before this call. Calling this function again has no effect.
  public func stop() {
    isStopped.withLock { $0 = true }
    subscription.wake()
  }
}

extension ProcedureQueue {
  /// Subscribes to the events of the queue, from now on.
  ///
  /// - Parameter newest: The number of events that are buffered for a slow reader; at least 1. If there are more, the oldest are dropped, and
  ///   one ``ProcedureEvent/Kind-swift.struct/gap`` event takes their place.
  /// - Returns: The feed.
  public nonisolated func feed(bufferingNewest newest: Int = 65_536) -> QueueFeed {
    QueueFeed(core, bufferingNewest: newest)
  }

  /// Calls a function with a feed of each queue of the process.
  ///
  /// The function is called immediately with the feeds of ``shared`` and of procedures without a queue, and with the feed of every queue that
  /// is created later.
  ///
  /// This function is meant to be called once, at the beginning of a program, by a tool such as a trace: each queue then has an observer,
  /// which adds a cost to every event. Queues that were created before the call are not observed.
  ///
  /// - Parameters:
  ///   - newest: The number of events that are buffered for a slow reader of each feed; see ``feed(bufferingNewest:)``.
  ///   - observe: Called when a queue is created, by the task that creates the queue, and must return quickly.
  public static func observeQueues(
    bufferingNewest newest: Int = 65_536, _ observe: @escaping @Sendable (QueueFeed) -> Void
  ) {
    let known = [QueueCore.unqueued, shared.core]
    QueueFeed.observers.withLock { $0.append { observe(QueueFeed($0, bufferingNewest: newest)) } }
    for core in known { observe(QueueFeed(core, bufferingNewest: newest)) }
  }
}

extension QueueFeed {
  fileprivate static let observers = Locked<[@Sendable (QueueCore) -> Void]>([])

  /// Passes a new queue to the observers of the process.
  static func queueWasMade(_ core: QueueCore) {
    for observe in observers.withLock({ $0 }) { observe(core) }
  }
}
