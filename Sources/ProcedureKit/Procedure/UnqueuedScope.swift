import Synchronization

/// Internal. A procedure that is awaited without any queue.
///
/// Invariant: it stores constants, and what has its own lock.
final class UnqueuedScope: ProcedureScope, @unchecked Sendable {
  private struct Cancellation {
    let reason: (any Error)?
  }

  private let name: String
  private let id = ProcedureID.reserve()
  private let cancellation = Mutex(Cancellation?.none)

  init(name: String) {
    self.name = name
    super.init(parent: nil)
  }

  override var identity: ProcedureIdentity {
    ProcedureIdentity(id: id, name: name)
  }

  override var isCancelled: Bool { cancellation.withLock { $0 != nil } }

  override var cancellationReason: (any Error)? { cancellation.withLock { $0?.reason } }

  override func cancel(_ reason: (any Error)?) {
    cancellation.withLock { cancellation in
      if cancellation == nil { cancellation = Cancellation(reason: reason) }
    }
  }
}
