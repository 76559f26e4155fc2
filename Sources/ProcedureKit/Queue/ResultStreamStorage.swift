import Synchronization

/// An element of a result sequence, before it is added to the queue: the type-erased task for one input.
@usableFromInline
struct ResultElement: Sendable {
  let layer: ModifierLayer
  let closures: ModifierLayer.Closures?
  let body: Run.Body

  @usableFromInline
  init(_ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, _ body: @escaping Run.Body) {
    (self.layer, self.closures, self.body) = (layer, closures, body)
  }
}

extension ProcedureTask {
  /// Returns a copy of the task with the traits that all elements of one iteration share.
  @usableFromInline
  func labelled(for iteration: ResultIteration) -> ProcedureTask {
    relabelled { traits in
      traits.rawPriority = traits.rawPriority ?? iteration.priority
      (traits.collection, traits.exchange) = (traits.name, iteration.isOrdered ? nil : iteration.exchange)
    }
  }

  /// Returns the element for an input. The function is inlined where the types are known, so it requires no type lookup.
  @inlinable
  func element(_ input: Input, named elementName: (@Sendable (Input) -> String)?) -> ResultElement {
    let task = elementName == nil && configure == nil ? self : resolved(for: input, name: elementName?(input))
    return ResultElement(task.layer, task.closures, task.body(with: input))
  }

  @usableFromInline
  func resolved(for input: Input, name: String?) -> ProcedureTask {
    guard let name else { return resolved(for: input) }
    return relabelled { $0.name = name }.resolved(for: input)
  }
}

/// The part of an iteration that adds the procedures, either as children of the iterating body or as top-level procedures.
@usableFromInline
struct ResultIteration: Sendable {
  let exchange = ResultExchange()
  let isOrdered: Bool
  /// The priority of the iterating task. The reader runs in a different task, which may have a different priority.
  let priority = Task.currentPriority.rawValue
  private let core: QueueCore
  private let parent: ProcedureContext?

  init(on core: QueueCore, isOrdered: Bool) {
    (self.core, self.isOrdered) = (core, isOrdered)
    parent = ProcedureContext.current?.run.nearestUnfinished.map { ProcedureContext($0) }
  }

  /// Reserves room for an element. Returns `false` if there is no room and `waiting` is `false`.
  func reserveRoom(for element: ResultElement, waiting: Bool) async throws -> Bool {
    guard parent == nil, core.limitsWaiting else { return true }
    guard waiting else { return core.reserveRoomAtOnce(for: element.layer.traits.key?.value) }
    try await core.reserveRoom(for: element.layer)
    return true
  }

  /// Adds an element for which room was reserved.
  func add(_ element: ResultElement) -> Run {
    if let parent { return parent.add(element, to: core, isElement: true) }
    return core.add(element.layer, element.closures, after: [], hasRoom: core.limitsWaiting, body: element.body)
  }

  /// Starts a task that reads the inputs and adds a procedure for each.
  func start(_ reader: CancellableTask, end: OneShotSignal, _ read: @escaping ResultInputs.Read) {
    // The elements have the context of the task that reads the sequence (Q5).
    let bindings = core.configuration.contextCarriers.map { $0.capture() }
    core.startTask {
      await reader.executeHere {
        await Run.bind(bindings[...]) {
          await ProcedureContext.bound.withValue(.init(parent)) {
            do {
              try await read {
                await exchange.isWanted()
              } _: { element in
                _ = try await reserveRoom(for: element, waiting: true)
                let run = add(element)
                exchange.send(.added(run))
                // The iteration may have ended without receiving the procedure.
                if Task.isCancelled { run.cancel(nil) }
              }
              exchange.send(.inputEnded(nil))
            } catch {
              exchange.send(.inputEnded(error))
            }
          }
        }
        end.signal()
      }
    }
  }
}

/// A channel through which the procedures and the reader report to the iterating task. It also limits how many inputs the reader can read.
///
/// There is one iterating task and one reading task.
final class ResultExchange: Sendable {
  enum Arrival: Sendable {
    /// The reader has added a procedure.
    case added(Run)
    /// A procedure has finished. Sent only if the values are unordered.
    case finished(Run)
    /// There are no more inputs, or reading them threw this error.
    case inputEnded((any Error)?)
  }

  private struct State {
    var arrivals: ContiguousArray<Arrival> = []
    var credit = 0
    var consumer: OneShotSignal?
    var reader: OneShotSignal?
    /// Whether the iteration has ended. Procedures that finish later are not stored: each run refers to this object through its layer, so
    /// storing the run would create a reference cycle.
    var isClosed = false
  }

  private let state = Mutex(State())

  func send(_ arrival: Arrival) {
    let waiting = state.withLock { state -> OneShotSignal? in
      if state.isClosed, case .finished = arrival { return nil }
      state.arrivals.append(arrival)
      return state.consumer.take()
    }
    waiting?.signal()
  }

  func takeAll(closes: Bool = false) -> ContiguousArray<Arrival> {
    state.withLock { state in
      if closes { state.isClosed = true }
      return state.arrivals.takeAll()
    }
  }

  /// Returns a signal that is sent when the next report arrives; `nil` if a report has already arrived.
  func waitForArrival() -> OneShotSignal? {
    let signal = OneShotSignal()
    return state.withLock { state in
      guard state.arrivals.isEmpty else { return nil }
      state.consumer = signal
      return signal
    }
  }

  /// Permits the reader to read `count` more inputs.
  func grant(_ count: Int) {
    let waiting = state.withLock { state in
      state.credit += count
      return state.reader.take()
    }
    waiting?.signal()
  }

  /// Waits until the reader is permitted to read another input. Returns `false` if the reader is cancelled first.
  func isWanted() async -> Bool {
    while true {
      let signal = OneShotSignal()
      let isPermitted = state.withLock { state in
        guard state.credit > 0 else {
          state.reader = signal
          return false
        }
        state.credit -= 1
        return true
      }
      if isPermitted { return !Task.isCancelled }
      guard await signal.wait() else { return false }
    }
  }
}
