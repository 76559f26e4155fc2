/// One layer of a procedure's modifiers: its name, prerequisites, limits and hooks.
///
/// A modifier either joins the outermost layer of the procedure or opens a new layer around it. From the inside out, a layer consists of
/// the body, the hooks around the body, the timeout, the resources, the delay, the conditions, and the end hooks.
///
/// The class is `package` because `ProcedureKitDurable` uses it.
@usableFromInline
package final class ModifierLayer: Sendable {
  struct Hooks: Sendable {
    var willExecute: [@Sendable (any Sendable) async throws -> Void] = []
    var didExecute: [@Sendable (RunOutcome) async throws -> Void] = []
    var didCancel: [@Sendable ((any Error)?) async -> Void] = []
    var willFinish: [@Sendable (RunOutcome) async throws -> Void] = []
    var didFinish: [@Sendable (RunOutcome) async -> Void] = []

    /// Whether there are no hooks to call when a run ends.
    var isEmptyAtEnd: Bool { didCancel.isEmpty && willFinish.isEmpty && didFinish.isEmpty }
    var isEmpty: Bool { isEmptyAtEnd && willExecute.isEmpty && didExecute.isEmpty }
  }

  /// The closures of a layer. They can capture the user's objects, so they are released when a run ends.
  @usableFromInline
  final class Closures: Sendable {
    let conditions: [Condition]
    let hooks: Hooks
    let reuse: Reuse?
    let repetition: MakeRepetition?

    init?(_ traits: Traits) {
      if traits.conditions.isEmpty, traits.hooks.isEmpty, traits.reuse == nil, traits.repetition == nil { return nil }
      (conditions, hooks) = (traits.conditions, traits.hooks)
      (reuse, repetition) = (traits.reuse, traits.repetition)
    }
  }

  /// A function that creates the repetition of a run from the run's input.
  typealias MakeRepetition = @Sendable (any Sendable) -> any Repetition

  /// A named function that looks for an existing value to use instead of executing the body.
  package struct Reuse: Sendable {
    let name: String
    let find: @concurrent @Sendable (any Sendable) async throws -> Reused?

    /// Creates a `Reuse` value from a name and a function.
    ///
    /// The initializer is `package` because `ProcedureKitDurable` uses it for procedures whose values it remembers.
    package init(name: String, find: @escaping @concurrent @Sendable (any Sendable) async throws -> Reused?) {
      (self.name, self.find) = (name, find)
    }
  }

  /// An existing value that is used instead of executing the body.
  package struct Reused: Sendable {
    let value: any Sendable

    package init(value: any Sendable) { self.value = value }
  }

  /// A key and its weight. The weight is the number of runs that can start in each turn of the key.
  struct WeightedKey: Sendable {
    let value: InternedKey
    let weight: Int
  }

  package struct Traits: Sendable {
    var name: String
    var rawPriority: UInt8?
    var key: WeightedKey?
    package var version: UInt32 = 1
    /// The weight of the procedure in the progress of its parent or graph.
    var weight = 1.0
    /// The number of seconds that the procedure is expected to take as a node; negative if unknown.
    var expectedSeconds: Float = -1
    var demands: [ResourceRequest.Demand] = []
    var delay: Duration?
    var timeout: Duration?
    var deadline: Deadline?
    var failurePolicy: FailurePolicy?
    /// The name of the collection, if the run is an element of one.
    var collection: String?
    /// The exchange that is notified when the run ends, if the run is an element of an unordered result sequence.
    var exchange: ResultExchange?
    var conditions: [Condition] = []
    var hooks = Hooks()
    package var reuse: Reuse?
    /// A function that creates the retry or repetition that executes the body.
    var repetition: MakeRepetition?
  }

  /// The traits, without closures.
  let traits: Traits
  /// The steps that a run of this layer takes before it starts.
  let prerequisites: QueueMachine.Prerequisites
  let hasWillExecuteHooks: Bool
  let hasDidExecuteHooks: Bool
  let hasEndHooks: Bool
  let hasTimeout: Bool
  /// Whether a run of this layer can have timers, which must be cancelled, or claims, which must be released, before the end of the run is
  /// published.
  let hasTimersOrClaims: Bool
  /// Whether the run looks for an existing value before it executes the body.
  let reuses: Bool
  /// Whether the body can be executed again after a pause.
  let repeats: Bool
  /// Whether a worker can execute the body as soon as the run has its slot, without further steps (`QueueCore+Inline.swift`). This is
  /// possible only if the layer has no hooks, deadline, failure policy, repetition or reuse. The body can have a timeout.
  let allowsInlineStartInWorker: Bool
  /// Whether a run that its caller's task drives can execute its body as soon as it has its resources and a slot, without further steps
  /// (`QueueCore+Inline.swift`). This excludes bodies with a timeout, which execute in a child task.
  let allowsInlineStartInCallersTask: Bool
  /// Whether the layer has only a body and labels, such as a name, a priority and a key.
  @usableFromInline let hasOnlyBody: Bool

  init(_ traits: Traits) {
    var prerequisites: QueueMachine.Prerequisites = []
    if !traits.conditions.isEmpty { prerequisites.insert(.conditions) }
    if !traits.demands.isEmpty { prerequisites.insert(.claim) }
    if traits.delay ?? .zero > .zero { prerequisites.insert(.delay) }
    self.prerequisites = prerequisites
    hasWillExecuteHooks = !traits.hooks.willExecute.isEmpty
    hasDidExecuteHooks = !traits.hooks.didExecute.isEmpty
    hasEndHooks = !traits.hooks.isEmptyAtEnd
    hasTimeout = traits.timeout != nil
    hasTimersOrClaims = hasTimeout || traits.deadline != nil || prerequisites.contains(.claim)
    reuses = traits.reuse != nil
    repeats = traits.repetition != nil
    allowsInlineStartInWorker =
      traits.deadline == nil && traits.failurePolicy == nil && traits.hooks.isEmpty && !repeats && !reuses
    allowsInlineStartInCallersTask = allowsInlineStartInWorker && !hasTimeout && prerequisites.isSubset(of: .claim)
    hasOnlyBody = allowsInlineStartInCallersTask && prerequisites.isEmpty
    var traits = traits
    (traits.conditions, traits.hooks, traits.reuse, traits.repetition) = ([], Hooks(), nil, nil)
    self.traits = traits
  }

  /// Creates a layer that has only a body.
  @usableFromInline
  convenience init(named name: String, _ priority: TaskPriority?) {
    self.init(Traits(name: name, rawPriority: priority?.rawValue))
  }

  var name: String { traits.name }

  /// Returns a copy of the layer with the given name. Only the nodes of a `map` need such copies, because they share one task. The layer of
  /// that task has only a name, a priority and a key (`ElementWork`).
  func named(_ name: String) -> ModifierLayer {
    if name == self.name { return self }
    // `traits` does not contain the closures, so the new layer would lose them.
    assert(hasOnlyBody, "ModifierLayer: a layer with modifiers cannot be renamed")
    var traits = traits
    traits.name = name
    return ModifierLayer(traits)
  }
}

extension ModifierLayer.Traits {
  /// Creates the traits of a node in a durable graph, for `ProcedureKitDurable`.
  package init(name: String, rawPriority: UInt8?) {
    self.init(name: name, rawPriority: rawPriority, key: nil)
  }
}
