/// The events of one queue, for a tool that writes or draws them, and that has to see all events before it ends.
///
/// An iteration over ``ProcedureQueue/events`` that is cancelled ends at once. A feed that is stopped hands out the events that
/// were before, and then ends:
///
/// ```swift
/// let feed = queue.feed()
/// let reader = Task { while let event = await feed.next() { print(event) } }
/// try await queue.run(job)
/// feed.stop()
/// await reader.value
/// ```
///
/// A feed keeps no queue alive, and ends with the events of the queue. Dropping the feed ends the subscription.
public struct QueueFeed: Sendable {
  /// The name of the queue; `"no queue"` for procedures that are called without one.
  public let queueName: String
  /// The instant on the clock of the queue at which the feed began. A tool that draws several queues needs such an instant of each.
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
  /// Cancelling the caller ends the wait. One task at a time calls this function.
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
          // A stop before this registration has resumed nobody.
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
  /// - Parameter newest: How many events are buffered for a slow reader; at least 1. More are lost, the oldest first, and one
  ///   ``ProcedureEvent/Kind-swift.struct/gap`` takes their place.
  /// - Returns: The feed.
  public nonisolated func feed(bufferingNewest newest: Int = 65_536) -> QueueFeed {
    QueueFeed(core, bufferingNewest: newest)
  }

  /// Calls a function with a feed of each queue of the process: at once with those of ``shared`` and of procedures without a queue,
  /// and with that of every queue that is made later.
  ///
  /// Meant to be called once, at the beginning of a program, by a tool such as a trace: each queue has an observer then, which costs
  /// every event. Queues that were made before are not observed.
  ///
  /// - Parameters:
  ///   - newest: How many events are buffered for a slow reader of each feed; see ``feed(bufferingNewest:)``.
  ///   - observe: Called when a queue is made, by the task that makes the queue, and must return soon.
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

  /// Tells the observers of the process about a queue that was just made.
  static func queueWasMade(_ core: QueueCore) {
    for observe in observers.withLock({ $0 }) { observe(core) }
  }
}
