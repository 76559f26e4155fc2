/// The events of a queue, or of one run, as they happen.
///
/// ```swift
/// for await event in queue.events { print(event) }
/// ```
///
/// It is one subscription, however often it is iterated: who breaks off an iteration goes on with the next event in another.
/// Where several tasks iterate at once, each event goes to one of them. Events are buffered without bounds, so that a slow
/// reader delays nobody; the subscription ends with the last copy of this.
///
/// Cancelling the task that iterates ends the iteration, after those events that it has fetched already. A body that waits
/// for an event lends its slot meanwhile.
///
/// This is no `AsyncStream`, since that takes about 300 ns an element, which is as long as a procedure takes that has five
/// events. It reads all that has come since it looked last at once.
public struct ProcedureEvents: AsyncSequence, Sendable {
  /// What is iterated.
  public typealias Element = ProcedureEvent
  /// It does not fail.
  public typealias Failure = Never

  @usableFromInline let reader: Reader

  init(_ subscription: EventSubscription<ProcedureOccurrence>) {
    reader = Reader(subscription)
  }

  /// One who reads the events.
  @inlinable
  public func makeAsyncIterator() -> Iterator {
    Iterator(reader)
  }

  /// One who reads the events.
  public struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let reader: Reader

    @usableFromInline
    init(_ reader: Reader) {
      self.reader = reader
    }

    /// Waits for the next event. Cancelling the caller ends the wait.
    ///
    /// - Returns: The event; `nil` after the last one.
    @inlinable
    public mutating func next() async -> ProcedureEvent? {
      await next(isolation: #isolation)
    }

    /// Waits for the next event. Cancelling the caller ends the wait.
    ///
    /// - Parameter actor: Where the caller is, which is left only if the event has not been fetched yet.
    /// - Returns: The event; `nil` after the last one.
    @inlinable
    public mutating func next(isolation actor: isolated (any Actor)?) async -> ProcedureEvent? {
      if let event = reader.nextFetched() { return event }
      return await reader.next()
    }
  }

  /// Internal. The subscription, behind a type that clients can call without looking up what its events are.
  @usableFromInline
  final class Reader: Sendable {
    private let subscription: EventSubscription<ProcedureOccurrence>

    init(_ subscription: EventSubscription<ProcedureOccurrence>) {
      self.subscription = subscription
    }

    @usableFromInline
    func nextFetched() -> ProcedureEvent? {
      subscription.nextFetched()
    }

    @usableFromInline @concurrent
    func next() async -> ProcedureEvent? {
      await subscription.next()
    }
  }
}
