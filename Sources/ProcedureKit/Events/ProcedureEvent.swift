/// One step of a run. Events are delivered to all subscribers to the run's handle or its queue.
///
/// Every event identifies its run by the properties ``id``, ``name``, ``attempt``, ``parent`` and, for a node, ``graph``. The
/// ``step-swift.property`` states what happened, with details as associated values:
///
/// ```swift
/// for await event in queue.events {
///   switch event.step {
///   case .willExecute(let attempt): print("\(event.name) starts, attempt \(attempt)")
///   case .didFinish(let outcome): print("\(event.name) ended: \(outcome)")
///   default: break
///   }
/// }
/// ```
///
/// The ``kind-swift.property`` is the step without its values and is useful for comparing and counting events. The other properties are
/// values that several steps have, or that no step has. Each of them applies only to certain kinds, and is `nil` for all others. Later
/// versions may add steps, kinds and properties.
///
/// The events of one run are totally ordered. The first one is ``Kind-swift.struct/didAttach``, and the last one is `didFinish`.
/// `didCancel` occurs at most once, before `willFinish`. A run that a queue refuses has only the events `willFinish` and `didFinish`. They
/// are delivered to subscribers to the run's handle, but not to subscribers to the queue. Events of different runs are ordered only if one
/// event causes the other.
///
/// The modifier layers and the attempts of a procedure, and the copies of a hedge, publish their events under the ID of the run that
/// encloses them.
public struct ProcedureEvent: Sendable {
  /// The ID of the run.
  public let id: ProcedureID
  /// The procedure's name.
  public let name: String
  /// The time of the event, measured on the clock of the queue.
  public let instant: ProcedureInstant
  private let parentID: ProcedureID
  private let number: Int32
  private let slotNumber: Int32
  private let isOfNode: Bool
  /// The kind of the event.
  public let kind: Kind
  /// The step of the event, and the values of its less common properties.
  ///
  /// The details are `nil` if the kind and the attempt number determine the step, and the less common properties have no values.
  let details: Details?

  /// The kind of an event.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    private enum Name: UInt8 {
      case didAttach, willExecute, didExecute, reused, retrying, didCancel, willProduce, didProduce, didAwait
      case didRequest, willFinish, didFinish, gap, progress
    }

    private let name: Name

    /// The run was admitted to the queue; for a node, the graph started.
    public static var didAttach: Kind { Kind(name: .didAttach) }
    /// The body is about to start; see ``ProcedureEvent/attempt``.
    public static var willExecute: Kind { Kind(name: .willExecute) }
    /// The body has ended.
    public static var didExecute: Kind { Kind(name: .didExecute) }
    /// An existing value is used, so the body is not executed; see ``Procedure/reusing(_:_:)``.
    public static var reused: Kind { Kind(name: .reused) }
    /// The ``ProcedureEvent/attempt`` failed with ``ProcedureEvent/error``, and the next attempt follows after a delay.
    ///
    /// See ``Procedure/retry(_:maxAttempts:budget:when:)``.
    public static var retrying: Kind { Kind(name: .retrying) }
    /// The run was cancelled before its outcome was decided; see ``ProcedureEvent/reason``.
    public static var didCancel: Kind { Kind(name: .didCancel) }
    /// The body is about to add a child.
    public static var willProduce: Kind { Kind(name: .willProduce) }
    /// The body has added a child.
    public static var didProduce: Kind { Kind(name: .didProduce) }
    /// The run has finished waiting for another run.
    ///
    /// A run can wait for another procedure to return its value or to end, whether directly or by reading the procedure's events or
    /// progress. It can also wait for a run whose execution it shares, for the nodes of a graph, for a queue to become idle, or for a
    /// procedure that its body runs on a queue. After its body ends, it can wait for children that the body produced. If the run waited for
    /// several runs, the step contains the run that ended last. The event is delivered only to current subscribers. It is not stored for
    /// later subscribers, because the events of a run that waits repeatedly could take an unlimited amount of memory.
    public static var didAwait: Kind { Kind(name: .didAwait) }
    /// The body has requested a value by key, which another run computes or has already computed; see
    /// ``ProcedureContext/value(of:)-swift.method``.
    ///
    /// If the body then waits for the value, ``didAwait`` follows. An event of this kind is published for each request, but is delivered
    /// only to current subscribers.
    public static var didRequest: Kind { Kind(name: .didRequest) }
    /// The progress of the run has reached a further whole percent; see ``ProgressReporter``.
    public static var progress: Kind { Kind(name: .progress) }
    /// The ``ProcedureEvent/outcome`` has been decided.
    public static var willFinish: Kind { Kind(name: .willFinish) }
    /// The ``ProcedureEvent/outcome`` is available. The run has released its slot, unless it is a node of a graph, in which case the worker
    /// of the graph keeps the slot.
    public static var didFinish: Kind { Kind(name: .didFinish) }
    /// A subscriber to a queue was too slow, and the oldest events were dropped.
    ///
    /// A gap does not belong to a run: its ``ProcedureEvent/id`` identifies no run, its ``ProcedureEvent/name`` is the name of the queue,
    /// and its ``ProcedureEvent/instant`` is the instant of the next event. See ``ProcedureQueue/events(bufferingNewest:)``.
    public static var gap: Kind { Kind(name: .gap) }

    /// The name of the kind, such as `didFinish`.
    public var description: String { "\(name)" }
  }
}

// MARK: - The step

extension ProcedureEvent {
  /// A step of a run, with its associated values.
  ///
  /// Later versions may add steps, so a `switch` in another package needs a `default`. Existing steps never receive additional values. New
  /// values become properties of the event instead.
  @nonexhaustive
  public enum Step: Sendable {
    /// The run was admitted to the queue; see ``Kind-swift.struct/didAttach``.
    case didAttach
    /// This attempt to execute the body is about to start; see ``Kind-swift.struct/willExecute``.
    case willExecute(attempt: Int)
    /// This attempt to execute the body has ended.
    case didExecute(attempt: Int)
    /// An existing value is used, so the body is not executed; see ``Kind-swift.struct/reused``.
    case reused(by: String)
    /// The attempt failed, and the next one follows after the delay; see ``Kind-swift.struct/retrying``.
    case retrying(attempt: Int, delay: Duration, error: any Error)
    /// The run was cancelled. The reason is `nil` if none was given; see ``Kind-swift.struct/didCancel``.
    case didCancel(reason: (any Error)?)
    /// The body is about to add this child.
    case willProduce(ProcedureIdentity)
    /// The body has added this child.
    case didProduce(ProcedureIdentity)
    /// The run has finished waiting for this other run; see ``Kind-swift.struct/didAwait``.
    case didAwait(ProcedureIdentity)
    /// The body has requested the value that this other run computes; see ``Kind-swift.struct/didRequest``.
    case didRequest(ProcedureIdentity)
    /// The progress has increased; see ``Kind-swift.struct/progress``.
    case progress(ProcedureProgress)
    /// The outcome has been decided; see ``Kind-swift.struct/willFinish``.
    case willFinish(ProcedureOutcome<Void>)
    /// The outcome is available; see ``Kind-swift.struct/didFinish``.
    case didFinish(ProcedureOutcome<Void>)
    /// The subscriber was too slow and missed this many events; see ``Kind-swift.struct/gap``.
    case gap(lostCount: Int)
  }

  /// The step that the event reports, for use in a `switch`.
  public var step: Step {
    if let details { return details.content.step }
    return switch kind {
    case .didAttach: .didAttach
    case .willExecute: .willExecute(attempt: attempt)
    case .didExecute: .didExecute(attempt: attempt)
    case .willFinish: .willFinish(.finished(()))
    case .didFinish: .didFinish(.finished(()))
    default: preconditionFailure("ProcedureEvent: \(kind) has no details")
    }
  }
}

extension ProcedureEvent.Step {
  fileprivate var kind: ProcedureEvent.Kind {
    switch self {
    case .didAttach: .didAttach
    case .willExecute: .willExecute
    case .didExecute: .didExecute
    case .reused: .reused
    case .retrying: .retrying
    case .didCancel: .didCancel
    case .willProduce: .willProduce
    case .didProduce: .didProduce
    case .didAwait: .didAwait
    case .didRequest: .didRequest
    case .progress: .progress
    case .willFinish: .willFinish
    case .didFinish: .didFinish
    case .gap: .gap
    }
  }

  /// Whether an event with this step needs details, because its kind and its attempt number do not fully determine the step.
  fileprivate var needsDetails: Bool {
    switch self {
    case .didAttach, .willExecute, .didExecute, .willFinish(.finished), .didFinish(.finished): false
    default: true
    }
  }
}

// MARK: - The properties

extension ProcedureEvent {
  /// The number of the attempt, starting at 1.
  ///
  /// For ``Kind-swift.struct/retrying``, this is the attempt that failed. For every other event, it is the latest attempt that started, or
  /// 0 before the first.
  public var attempt: Int { Int(number) }

  /// The run whose body called or produced this run, or, for a node, the run of its graph; `nil` for a top-level run.
  public var parent: ProcedureID? { parentID == .ofNoRun ? nil : parentID }

  /// The graph's run, if this run is a node; otherwise `nil`.
  public var graph: ProcedureID? { isOfNode ? parentID : nil }

  /// The outcome, for ``Kind-swift.struct/willFinish`` and ``Kind-swift.struct/didFinish``.
  public var outcome: ProcedureOutcome<Void>? {
    switch step {
    case .willFinish(let outcome), .didFinish(let outcome): outcome
    default: nil
    }
  }

  /// The error of the failed attempt, for ``Kind-swift.struct/retrying``, or of the run, if its ``outcome`` is a failure.
  public var error: (any Error)? {
    switch step {
    case .retrying(_, _, let error), .willFinish(.failed(let error)), .didFinish(.failed(let error)): error
    default: nil
    }
  }

  /// The reason for the cancellation, for ``Kind-swift.struct/didCancel`` or for an ``outcome`` that is a cancellation; `nil` if no reason
  /// was given.
  public var reason: (any Error)? {
    switch step {
    case .didCancel(let reason), .willFinish(.cancelled(let reason)), .didFinish(.cancelled(let reason)): reason
    default: nil
    }
  }

  /// The time that the run spent waiting for its slot. It is available for ``Kind-swift.struct/willExecute`` and
  /// ``Kind-swift.struct/didAwait``.
  ///
  /// The value is `nil` if the time is unknown. This is the case for the nodes of a graph, because they are executed in the slots of the
  /// graph's workers.
  public var slotWait: Duration? {
    // An event for a body that received its slot immediately has no details.
    let isKnown = kind == .willExecute && slotNumber >= 0 && !isOfNode
    let wait = details?.content.slotWait ?? (isKnown ? 0 : -1)
    return wait < 0 ? nil : .nanoseconds(wait)
  }

  /// The number of the slot in which the body executes, starting at 0. Bodies that execute concurrently on a queue have different numbers.
  ///
  /// The number is available for ``Kind-swift.struct/willExecute``, ``Kind-swift.struct/didExecute`` and ``Kind-swift.struct/didAwait``.
  /// After a wait, a body can have a different slot. The number is `nil` for a body without a slot, for a body that received its slot
  /// before the queue had a subscriber, and for events that were published before the first subscription to the handle.
  public var slot: Int? { slotNumber < 0 ? nil : Int(slotNumber) }

  /// The IDs of the procedures that must end before the run can start, for ``Kind-swift.struct/didAttach``.
  public var dependencies: [ProcedureID] { details?.content.dependencies ?? [] }

  /// The name of the collection to which the run belongs as an element, for ``Kind-swift.struct/didAttach``.
  ///
  /// This is the name of the procedure that ``ProcedureQueue/map(_:with:maxConcurrentElements:onFailure:elementName:)``,
  /// ``ProcedureQueue/results(of:over:maxConcurrentElements:ordered:elementName:)-4dpvx`` or the functions of a ``GraphBuilder`` execute
  /// for each element. The value is `nil` for every other run.
  public var collection: String? { details?.content.collection }

  /// The reason a durable graph executes a node even though the journal contains values from the graph.
  ///
  /// The reason is available for the event ``Kind-swift.struct/willExecute`` of such a node. It is `nil` for all other events, and for a
  /// node that is executed for the first time.
  ///
  /// See `durable(in:as:version:rememberingFailures:)`. In a snapshot, ``QueueSnapshot/Entry/executionCause`` contains the same reason.
  public var executionCause: ExecutionCause? { details?.content.executionCause }

  /// The time that the run spent in each phase, for ``Kind-swift.struct/didFinish``.
  ///
  /// The times add up to the time since `didAttach`. The value is `nil` for a run that was refused. Unless the queue collects totals, it is
  /// also `nil` for a run that was admitted before the queue had a subscriber.
  public var metrics: ProcedureMetrics? { details?.content.metrics }
}

// MARK: - Making events

/// An event stores a few numbers, and one object for all details. Most events have no details, so they are cheap to copy and release. These
/// two operations account for most of the cost of observation.
extension ProcedureEvent {
  /// The contents of an event: its step, and the values that are not part of any step.
  struct Content: Sendable {
    let step: Step
    /// The number of the slot; negative if the body has none, or if the number is unknown.
    var slot: Int32 = -1
    /// The wait for the slot in nanoseconds; negative if the wait is unknown.
    var slotWait: Int64 = -1
    var dependencies: [ProcedureID] = []
    var collection: String?
    var executionCause: ExecutionCause?
    var metrics: ProcedureMetrics?

    fileprivate var needsDetails: Bool {
      step.needsDetails || slotWait > 0 || !dependencies.isEmpty || collection != nil || executionCause != nil
        || metrics != nil
    }
  }

  /// The run that an event belongs to.
  struct Subject {
    let id: ProcedureID
    let name: String
    /// The latest attempt that has started; 0 before the first.
    var attempt = 0
    var parent: ProcedureID?
    var isNode = false
  }

  final class Details: Sendable {
    let content: Content

    fileprivate init(_ content: Content) { self.content = content }
  }

  /// Creates an event, which identifies its run, the attempt, the parent, and the graph of a node (L6).
  init(of subject: Subject, at instant: ProcedureInstant, _ content: Content) {
    (id, name, self.instant) = (subject.id, subject.name, instant)
    (parentID, isOfNode) = (subject.parent ?? .ofNoRun, subject.isNode)
    let attempt =
      switch content.step {
      case .willExecute(let attempt), .didExecute(let attempt), .retrying(let attempt, _, _): attempt
      default: subject.attempt
      }
    (number, slotNumber) = (Int32(clamping: attempt), content.slot)
    (kind, details) = (content.step.kind, content.needsDetails ? Details(content) : nil)
  }

  /// Returns the event that informs a slow subscriber that `count` events before `next` were dropped.
  static func gap(_ count: Int, before next: ProcedureEvent, on queue: String) -> ProcedureEvent {
    ProcedureEvent(of: Subject(id: .ofNoRun, name: queue), at: next.instant, Content(step: .gap(lostCount: count)))
  }
}

extension ProcedureEvent: BroadcastEvent {}

extension ProcedureEvent: CustomStringConvertible {
  /// The event as it appears in logs: `#42 Resize didAttach`, `#42 Resize willExecute(attempt: 1)`, `#42 Resize didFinish(finished)`.
  public var description: String {
    "\(id) \(name.shortened(to: 200)) \(kind)\(words)"
  }

  private var words: String {
    switch step {
    case .didAttach: ""
    case .willExecute(let attempt):
      "(attempt: \(attempt)\(executionCause.map { ", because \($0)" } ?? ""))"
    case .didExecute(let attempt): "(attempt: \(attempt))"
    case .reused(let name): "(by: \(name.quoted))"
    case .retrying(let attempt, let delay, let error):
      "(attempt: \(attempt), delay: \(delay.inWords), error: \(error))"
    case .didCancel(let reason): reason.map { "(reason: \($0))" } ?? ""
    case .willProduce(let run), .didProduce(let run), .didAwait(let run), .didRequest(let run): "(\(run))"
    case .progress(let progress): "(\(progress))"
    case .willFinish(let outcome), .didFinish(let outcome): "(\(outcome))"
    case .gap(let count): "(\(count))"
    }
  }
}

/// The reason a durable graph executes a node or computes the value of a key instead of using a value from its journal.
@nonexhaustive
public enum ExecutionCause: Hashable, Sendable, CustomStringConvertible {
  /// The journal has no value for the node.
  case notRemembered
  /// The version of the node, or of the graph, has changed.
  case versionChanged
  /// The values of these dependencies have changed, or the node now has different dependencies.
  case dependenciesChanged([String])
  /// These dependencies are executed, too, or may have to be, so their values are not known before.
  case dependenciesExecuted([String])
  /// The caller, or a node that is being executed, needs the value, but the value's type is not `Codable`. The associated value is the name
  /// of this type.
  case notCodable(String)

  /// The reason in words, such as "the journal has no value for it".
  public var description: String {
    switch self {
    case .notRemembered: "the journal has no value for it"
    case .versionChanged: "its version, or the version of the graph, has changed"
    case .dependenciesChanged(let names): "its dependencies have changed: \(Self.list(names))"
    case .dependenciesExecuted(let names):
      names.count == 1
        ? "the value of its dependency \(Self.list(names)) is not known yet"
        : "the values of its dependencies \(Self.list(names)) are not known yet"
    case .notCodable(let type): "its value is needed, but the type of the value, \(type), is not Codable"
    }
  }

  private static func list(_ names: [String]) -> String { names.map(\.quoted).sentenceList }
}

extension ExecutionCause: Codable {
  private enum CodingKeys: CodingKey {
    case kind, dependencies, type
  }

  private enum Kind: String, Codable {
    case notRemembered, versionChanged, dependenciesChanged, dependenciesExecuted, notCodable
  }

  /// Decodes a cause.
  ///
  /// - Throws: `DecodingError` if the data is invalid or the kind of cause is unknown.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Kind.self, forKey: .kind) {
    case .notRemembered: self = .notRemembered
    case .versionChanged: self = .versionChanged
    case .dependenciesChanged: self = .dependenciesChanged(try container.decode([String].self, forKey: .dependencies))
    case .dependenciesExecuted: self = .dependenciesExecuted(try container.decode([String].self, forKey: .dependencies))
    case .notCodable: self = .notCodable(try container.decode(String.self, forKey: .type))
    }
  }

  /// Encodes the kind of the cause, and its associated value, if any.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    func encode(_ kind: Kind, dependencies: [String]? = nil, type: String? = nil) throws {
      try container.encode(kind, forKey: .kind)
      try container.encodeIfPresent(dependencies, forKey: .dependencies)
      try container.encodeIfPresent(type, forKey: .type)
    }
    switch self {
    case .notRemembered: try encode(.notRemembered)
    case .versionChanged: try encode(.versionChanged)
    case .dependenciesChanged(let names): try encode(.dependenciesChanged, dependencies: names)
    case .dependenciesExecuted(let names): try encode(.dependenciesExecuted, dependencies: names)
    case .notCodable(let type): try encode(.notCodable, type: type)
    }
  }
}
