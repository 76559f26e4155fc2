/// One step in the life of one run, for the subscribers of the handle and of the queue.
///
/// The events of one run are totally ordered: ``Kind-swift.enum/didAttach`` first, `didFinish` last; `didCancel` at most
/// once and before `willFinish`; no event follows `didFinish`. A run that a queue refuses has only `willFinish` and
/// `didFinish`: the events of the handle include both, the events of the queue include neither. The events of two runs are
/// ordered only if one event causes the other.
public struct ProcedureEvent: Sendable {
  /// The run.
  public let id: ProcedureID
  /// The procedure's name.
  public let name: String
  /// The time of the event, on the clock of the queue.
  public let instant: ProcedureInstant
  private let step: Step
  /// The number of the attempt, from 1; 0 for a step without an attempt.
  private let attempt: Int
  /// The kind of a ``Step/detailed`` event; `nil` for every other step.
  let details: Details?

  /// The kind of the event, with the details.
  public var kind: Kind {
    switch step {
    case .didAttach: .didAttach
    case .willExecute: .willExecute(attempt: attempt)
    case .didExecute: .didExecute(attempt: attempt)
    case .willFinish: .willFinish(.finished(()))
    case .didFinish: .didFinish(.finished(()))
    case .detailed: detailedKind
    }
  }

  /// The kind of an event.
  public enum Kind: Sendable {
    /// The run was admitted to the queue; for a node, the graph has started.
    case didAttach
    /// The body is about to start. Attempts are counted from 1.
    case willExecute(attempt: Int)
    /// The body has ended.
    case didExecute(attempt: Int)
    /// A value that was there already is used instead of executing the body; see ``Procedure/reusing(_:_:)``.
    case reused(by: String)
    /// An attempt has failed with `error`, and the next attempt follows after `delay`; see
    /// ``Procedure/retry(_:maxAttempts:budget:when:)``.
    case retrying(attempt: Int, delay: Duration, error: any Error)
    /// The run was cancelled before the outcome was decided; `reason` is `nil` for a cancel without a reason.
    case didCancel(reason: (any Error)?)
    /// The body is about to add a child.
    case willProduce(ProcedureIdentity)
    /// The body has added a child.
    case didProduce(ProcedureIdentity)
    /// The outcome is decided.
    case willFinish(ProcedureOutcome<Void>)
    /// The outcome can be read. The slot has been given back, except for a node of a graph: the graph's worker keeps the slot.
    case didFinish(ProcedureOutcome<Void>)
    /// A subscriber to a queue was too slow. The number of events was lost at this place, the oldest events first.
    ///
    /// A gap belongs to no run: the ``ProcedureEvent/id`` is the id of no run, the ``ProcedureEvent/name`` is the queue's
    /// name, and the ``ProcedureEvent/instant`` is the instant of the next event. See
    /// ``ProcedureQueue/events(bufferingNewest:)``.
    case gap(Int)
  }
}

/// Internal. Most events are a step without details, and most of the cost of watching is to copy and release events. So an
/// event is a few numbers, and all details are in one object.
extension ProcedureEvent {
  /// The steps of each run that finishes with a value.
  private enum Step {
    case didAttach, willExecute, didExecute, willFinish, didFinish
    /// Every other kind of event.
    case detailed
  }

  final class Details: Sendable {
    fileprivate let kind: Kind

    fileprivate init(_ kind: Kind) {
      self.kind = kind
    }
  }

  init(id: ProcedureID, name: String, instant: ProcedureInstant, kind: Kind) {
    (self.id, self.name, self.instant) = (id, name, instant)
    (step, attempt, details) =
      switch kind {
      case .didAttach: (.didAttach, 0, nil)
      case .willExecute(let attempt): (.willExecute, attempt, nil)
      case .didExecute(let attempt): (.didExecute, attempt, nil)
      case .willFinish(.finished): (.willFinish, 0, nil)
      case .didFinish(.finished): (.didFinish, 0, nil)
      default: (.detailed, 0, Details(kind))
      }
  }

  private var detailedKind: Kind {
    guard let details else { preconditionFailure("ProcedureEvent: \(id) \(name) has no details") }
    return details.kind
  }

  /// Makes the event for a queue's slow subscriber, which lost `count` events before `next`.
  static func gap(_ count: Int, before next: ProcedureEvent, on queue: String) -> ProcedureEvent {
    ProcedureEvent(id: .ofNoRun, name: queue, instant: next.instant, kind: .gap(count))
  }
}

extension ProcedureEvent: BroadcastEvent {}

extension ProcedureEvent: CustomStringConvertible {
  /// The event in logs: `#42 Resize didAttach`.
  public var description: String {
    "\(id) \(name) \(kind)"
  }
}

extension ProcedureEvent.Kind: CustomStringConvertible {
  /// The kind in logs: `willExecute(attempt: 1)`, `didCancel`, `didFinish(finished)`.
  public var description: String {
    switch self {
    case .didAttach: "didAttach"
    case .willExecute(let attempt): "willExecute(attempt: \(attempt))"
    case .didExecute(let attempt): "didExecute(attempt: \(attempt))"
    case .reused(let name): "reused(by: \"\(name)\")"
    case .retrying(let attempt, let delay, let error):
      "retrying(attempt: \(attempt), delay: \(delay.inWords), error: \(error))"
    case .didCancel(let reason): reason.map { "didCancel(reason: \($0))" } ?? "didCancel"
    case .willProduce(let child): "willProduce(\(child))"
    case .didProduce(let child): "didProduce(\(child))"
    case .willFinish(let outcome): "willFinish(\(outcome))"
    case .didFinish(let outcome): "didFinish(\(outcome))"
    case .gap(let count): "gap(\(count))"
    }
  }
}
