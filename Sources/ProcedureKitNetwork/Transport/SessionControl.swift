import Foundation

#if canImport(FoundationNetworking)
  import Dispatch
  import FoundationNetworking

  /// Starts and cancels the tasks of a session, on Linux.
  ///
  /// There, the work of all sessions and all of libcurl's callbacks share one serial queue (swift-corelibs-foundation 6.3). Three
  /// things follow, and all of them were seen (a fourth is in ``IdleBrake``):
  /// - Making, resuming and cancelling a task wait for that queue. They are done by a thread of their own here, so that no thread of
  ///   Swift's concurrency waits.
  /// - A connection whose peer sends faster than the data is read never lets go of the queue: nothing can be cancelled any more.
  ///   So libcurl's queue is suspended meanwhile.
  /// - A delegate that is called through an operation queue lets the data that was read pile up. ``InlineQueue`` calls the
  ///   delegate at once: libcurl reads on when the data is taken.
  struct SessionControl: Sendable {
    static func makeDelegateQueue() -> OperationQueue { InlineQueue() }

    private let session: URLSession
    private let actions: OperationQueue
    /// The queue of libcurl's callbacks, which the session does not publish; without it, a cancel may wait for a fast peer.
    private let transfers: DispatchQueue?
    private let brake: IdleBrake?

    init(_ session: URLSession, _ exchanges: SessionExchanges) {
      self.session = session
      actions = OperationQueue()
      actions.maxConcurrentOperationCount = 1
      transfers = Self.child("multiHandle", of: session).flatMap { Self.child("queue", of: $0) } as? DispatchQueue
      brake = transfers.map { IdleBrake($0, exchanges) }
    }

    private static func child(_ name: String, of object: Any) -> Any? {
      Mirror(reflecting: object).children.first { $0.label == name }?.value
    }

    /// Calls a function that makes and resumes a task.
    func start(_ action: @escaping @Sendable (URLSession) -> Void) {
      perform {
        action(session)
        brake?.start()
      }
    }

    func cancel(_ task: URLSessionTask) {
      perform {
        task.cancel()
        // The cancel takes up to three turns of the session's queue; each reading of the priority waits for one.
        for _ in 1...3 { _ = task.priority }
      }
    }

    private func perform(_ action: @escaping @Sendable () -> Void) {
      actions.addOperation { [transfers] in
        transfers?.suspend()
        action()
        transfers?.resume()
      }
    }
  }

  /// Executes each operation at once, on the thread that adds the operation: the queue of the session.
  ///
  /// Invariant of `@unchecked Sendable`: there is no state beside that of the superclass.
  private final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
  }
#else
  /// Starts and cancels the tasks of a session.
  struct SessionControl: Sendable {
    static func makeDelegateQueue() -> OperationQueue {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      return queue
    }

    private let session: URLSession

    init(_ session: URLSession, _ exchanges: SessionExchanges) {
      self.session = session
    }

    func start(_ action: @escaping @Sendable (URLSession) -> Void) { action(session) }

    func cancel(_ task: URLSessionTask) { task.cancel() }
  }
#endif
