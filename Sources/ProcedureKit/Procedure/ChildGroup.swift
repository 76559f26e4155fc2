import Synchronization

/// Internal. A run that was produced by the body of another one.
protocol ProducedChild: AnyObject, Sendable {
  var identity: ProcedureIdentity { get }
  func cancel(_ reason: (any Error)?)
}

/// Internal. What one body has produced: it ends after all of them.
final class ChildGroup: Sendable {
  private struct State {
    var policy: ErrorPolicy
    var children: [ProcedureID: any ProducedChild] = [:]
    var failures: [ProcedureFailure] = []
    /// Whether those that come are cancelled at once, and why.
    var cancel: Cancel?
    var isClosed = false
    var waiter: Waiter?
  }

  private let state: Mutex<State>
  /// Called when a failure is to end the body.
  private let stopBody: @Sendable () -> Void

  init(policy: ErrorPolicy, stopBody: @escaping @Sendable () -> Void) {
    state = Mutex(State(policy: policy))
    self.stopBody = stopBody
  }

  var policy: ErrorPolicy { state.withLock { $0.policy } }

  func setPolicy(_ policy: ErrorPolicy) {
    state.withLock { $0.policy = policy }
  }

  /// Those that have not finished, in the order in which they were produced.
  var unfinished: [ProcedureIdentity] {
    state.withLock { $0.children.values.map(\.identity).sorted { $0.id < $1.id } }
  }

  /// The same, as what can be cancelled.
  var unfinishedChildren: [any ProducedChild] {
    state.withLock { Array($0.children.values) }
  }

  /// Whether a failure ends the body and the other children.
  var stopsAtFirstFailure: Bool {
    state.withLock { $0.policy == .failFast }
  }

  /// Whether a child has failed, and the body is to end because of that.
  var isStopping: Bool {
    state.withLock { $0.policy == .failFast && !$0.failures.isEmpty }
  }

  /// Whether all have finished, and none is admitted any more.
  var hasEnded: Bool {
    state.withLock { $0.isClosed }
  }

  /// Says whether a child is admitted: not when the body has ended and all that it had produced.
  func admit(_ child: any ProducedChild) -> Bool {
    state.withLock { state in
      guard !state.isClosed else { return false }
      state.children[child.identity.id] = child
      return true
    }
  }

  /// A child that was admitted is on its queue: it is cancelled if all others were.
  func attached(_ child: any ProducedChild) {
    if let cancel = state.withLock({ $0.cancel }) { child.cancel(cancel.reason) }
  }

  func finished(_ child: ProcedureIdentity, _ outcome: ProcedureOutcome<Void>) {
    let (others, waiter) = state.withLock { state -> ([any ProducedChild], Waiter?) in
      var others: [any ProducedChild] = []
      let removed = state.children.removeValue(forKey: child.id)
      if case .failed(let error) = outcome {
        state.failures.append(ProcedureFailure(procedure: child, error: error))
        if state.policy == .failFast, state.cancel == nil {
          state.cancel = Cancel(reason: nil)
          others = Array(state.children.values)
        }
      }
      _ = removed
      return (others, state.children.isEmpty ? state.waiter.take() : nil)
    }
    if isStopping, !others.isEmpty || waiter == nil { stopBody() }
    for other in others { other.cancel(nil) }
    waiter?.resume()
  }

  /// Cancels all children, those to come included.
  func cancel(_ reason: (any Error)?) {
    for child in cancelled(reason) { child.cancel(reason) }
  }

  /// The body was cancelled: those to come will be as well.
  ///
  /// - Returns: Those that are there, and have to be cancelled now.
  func cancelled(_ reason: (any Error)?) -> [any ProducedChild] {
    state.withLock { state in
      guard state.cancel == nil else { return [] }
      state.cancel = Cancel(reason: reason)
      return Array(state.children.values)
    }
  }

  /// Waits until all have finished; none is admitted after that.
  func close() async {
    while !state.withLock({ $0.isClosed }) {
      await Waiter.suspend { waiter in
        state.withLock { state in
          state.isClosed = state.children.isEmpty
          if !state.isClosed { state.waiter = waiter }
          return !state.isClosed
        }
      }
    }
  }

  /// What a body that has ended comes to because of its children.
  ///
  /// - Parameters:
  ///   - error: What the body itself threw, if it did.
  ///   - procedure: Whose body it is.
  /// - Returns: The error to be thrown, if there is one.
  func error(besides error: (any Error)?, of procedure: ProcedureIdentity) -> (any Error)? {
    let (policy, failures) = state.withLock { ($0.policy, $0.failures) }
    guard let first = failures.first else { return error }
    if policy == .failFast { return first.error }
    let own = error.map { [ProcedureFailure(procedure: procedure, error: $0)] } ?? []
    return ProcedureError.partsFailed(procedure: procedure, failures: failures + own)
  }
}
