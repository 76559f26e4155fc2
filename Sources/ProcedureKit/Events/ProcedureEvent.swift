/// One step in the life of one run, as told to whoever watches.
///
/// The events of one run are totally ordered: ``Kind-swift.enum/didAttach`` first, `didFinish` last; `didCancel` at most
/// once and before `willFinish`; nothing after `didFinish`. A run that its queue refuses has only `willFinish` and
/// `didFinish`, which its handle's events tell and those of the queue do not. Between different runs only what one causes in
/// the other is ordered.
public struct ProcedureEvent: Sendable {
  /// The run.
  public let id: ProcedureID
  /// The procedure's name.
  public let name: String
  /// When it happened, on the clock of the queue.
  public let instant: ProcedureInstant
  private let step: Step
  /// Counted from 1, where the step has one.
  private let attempt: Int
  /// What happened, where that is more than a step: ``Step/detailed``.
  let details: Details?

  /// What happened.
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

  /// What happened to a run.
  public enum Kind: Sendable {
    /// It was admitted to its queue, or the graph that it is part of has started.
    case didAttach
    /// Its body is about to start; attempts are counted from 1.
    case willExecute(attempt: Int)
    /// Its body has ended.
    case didExecute(attempt: Int)
    /// An attempt has failed with this error, and another one follows after this delay; see ``Procedure/retry(_:maxAttempts:budget:when:)``.
    case retrying(attempt: Int, delay: Duration, error: any Error)
    /// It was cancelled in time, for this reason if one was given.
    case didCancel(reason: (any Error)?)
    /// Its body is about to add this procedure as a part of it.
    case willProduce(ProcedureIdentity)
    /// Its body has added this procedure as a part of it.
    case didProduce(ProcedureIdentity)
    /// Its outcome is decided.
    case willFinish(ProcedureOutcome<Void>)
    /// Its outcome can be read; its slot has been given back, unless it is a node of a graph, whose worker keeps the slot.
    case didFinish(ProcedureOutcome<Void>)
    /// A subscriber to a queue was too slow: so many events were lost here, the oldest first. The event belongs to no run:
    /// its ``ProcedureEvent/id`` is that of none, its ``ProcedureEvent/name`` is the queue's, its
    /// ``ProcedureEvent/instant`` is that of the next event. See ``ProcedureQueue/events(bufferingNewest:)``.
    case gap(Int)
  }
}

/// Internal. Most events are a step and nothing else, and most of the cost of watching is to copy and release events. So an
/// event is a few numbers, and everything else about it is in one object.
extension ProcedureEvent {
  /// What happens to each run that finishes with a value.
  private enum Step {
    case didAttach, willExecute, didExecute, willFinish, didFinish
    /// Whatever else happens to it.
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

  /// The event that tells a queue's slow subscriber that it lost `count` events before `next`.
  static func gap(_ count: Int, before next: ProcedureEvent, on queue: String) -> ProcedureEvent {
    ProcedureEvent(id: .ofNoRun, name: queue, instant: next.instant, kind: .gap(count))
  }
}

extension ProcedureEvent: BroadcastEvent {}

extension ProcedureEvent: CustomStringConvertible {
  /// The event as people read it in a log: `#42 Resize didAttach`.
  public var description: String {
    "\(id) \(name) \(kind)"
  }
}

extension ProcedureEvent.Kind: CustomStringConvertible {
  /// What happened as people read it in a log: `willExecute(attempt: 1)`, `didCancel`, `didFinish(finished)`.
  public var description: String {
    switch self {
    case .didAttach: "didAttach"
    case .willExecute(let attempt): "willExecute(attempt: \(attempt))"
    case .didExecute(let attempt): "didExecute(attempt: \(attempt))"
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
