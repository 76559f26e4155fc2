/// The events of one queue, for use by a recorder. A feed that is stopped still returns all earlier events before it ends.
///
/// By contrast, an iteration over ``ProcedureQueue/events`` ends as soon as it is cancelled. A feed does not retain its queue, and ends
/// when the queue's events end. Releasing the feed ends the subscription.
///
/// The type is `package` because `ProcedureKitDiagnostics` and `TestingProcedureKit` use it.
package struct QueueFeed: Sendable {
  /// The name of the queue; `"no queue"` for procedures that are called without a queue.
  package let queueName: String
  /// The instant at which the feed began, on the clock of the queue. A tool that draws several queues can align their feeds by these
  /// instants.
  package let start: ProcedureInstant
  private let subscription: EventSubscription<ProcedureEvent>

  init(_ core: QueueCore, bufferingNewest newest: Int = 65_536) {
    queueName = core.name
    start = core.time.now
    subscription = core.broadcaster.subscribe(limit: core.eventLimit(newest: newest))
  }

  /// Returns the next event, waiting for it if necessary; `nil` after the last one. Cancelling the caller ends the wait.
  @concurrent package func next() async -> ProcedureEvent? { await subscription.next() }

  /// Returns the next event if it is available; otherwise `nil`.
  package func take() -> ProcedureEvent? { subscription.take() }

  /// Ends the feed once the events that the queue sent before this call have been read. Calling this function again has no effect.
  package func stop() { subscription.end() }
}

extension ProcedureQueue {
  /// Subscribes to the queue's future events. If more than `newest` events are waiting to be read, the oldest are replaced by one gap
  /// event.
  package nonisolated func feed(bufferingNewest newest: Int = 65_536) -> QueueFeed {
    QueueFeed(core, bufferingNewest: newest)
  }

  /// Calls a function with feeds of the shared queue, of the procedures without a queue, and of every queue that is created later.
  ///
  /// The function is called immediately for ``shared`` and for the procedures that run without a queue. For every queue that is created
  /// later, it is called in the task that creates the queue. Other existing queues are not observed.
  package static func observeQueues(_ observe: @escaping @Sendable (QueueFeed) -> Void) {
    let known = [QueueCore.unqueued, shared.core]
    QueueFeed.observers.withLock { $0.append(observe) }
    for core in known { observe(QueueFeed(core)) }
  }
}

extension QueueFeed {
  fileprivate static let observers = Locked<[@Sendable (QueueFeed) -> Void]>([])

  /// Passes a feed of a new queue to the functions that observe all queues in the process.
  static func queueWasMade(_ core: QueueCore) {
    for observe in observers.withLock({ $0 }) { observe(QueueFeed(core)) }
  }
}
