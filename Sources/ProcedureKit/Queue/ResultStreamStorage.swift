import Synchronization

/// The part of an iteration that adds the procedures, either as children of the iterating body or as top-level procedures.
struct ResultAdder<Input: Sendable, Output: Sendable>: Sendable {
  let exchange: ResultExchange<Output>
  private let queue: ProcedureQueue
  private let task: ProcedureTask<Input, Output>
  private let elementName: (@Sendable (Input) -> String)?
  private let parent: ProcedureContext?
  private let isOrdered: Bool

  init(_ sequence: ResultSequence<Input, Output>) {
    queue = sequence.queue
    isOrdered = sequence.isOrdered
    exchange = ResultExchange()
    parent = ProcedureContext.current?.run.nearestUnfinished.map { ProcedureContext($0) }
    let priority = Task.currentPriority.rawValue
    // The reader runs in a different task, which may have a different priority.
    task = sequence.task.relabelled { traits in
      traits.rawPriority = traits.rawPriority ?? priority
      traits.collection = traits.name
    }
    elementName = sequence.elementName
  }

  /// Reserves room for one more procedure. Returns `false` if there is no room and `waiting` is `false`.
  func reserveRoom(waiting: Bool) async throws -> Bool {
    guard parent == nil, queue.core.limitsWaiting else { return true }
    guard waiting else { return queue.core.reserveRoomAtOnce(for: task.layer.traits.key) }
    try await queue.core.reserveRoom(for: task.layer)
    return true
  }

  /// Adds a procedure for which room was reserved.
  func add(_ input: Input) -> ProcedureHandle<Output> {
    var task = task
    if let name = elementName?(input) { task = task.relabelled { $0.name = name } }
    if let parent { return parent.add(task, input, to: queue.core, isElement: true) }
    return queue.submit(task, input, after: [], hasRoom: queue.core.limitsWaiting)
  }

  /// Notifies the exchange when the procedure has finished.
  func watch(_ handle: ProcedureHandle<Output>, _ number: Int) {
    handle.run.whenFinished { [exchange] _ in exchange.send(.finished(number)) }
  }

  /// Starts a task that reads the inputs, and adds a procedure for each.
  func start(
    _ reader: CancellableTask, end: OneShotSignal,
    _ read:
      @escaping @Sendable (
        _ isWanted: @Sendable () async -> Bool, _ take: @Sendable (Input) async throws -> Void
      ) async throws -> Void
  ) {
    let bindings = queue.core.configuration.contextCarriers.map { $0.capture() }
    queue.core.startTask {
      await reader.executeHere {
        await Run.bind(bindings[...]) {
          await ProcedureContext.bound.withValue(.init(parent)) {
            do {
              try await read {
                await exchange.isWanted()
              } _: { input in
                _ = try await reserveRoom(waiting: true)
                let handle = add(input)
                exchange.send(.added(handle))
                // The iteration may have ended without having received the procedure.
                if Task.isCancelled { handle.cancel() }
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

/// A channel that passes arrivals from the procedures and the reader to the iterating task, and limits the number of inputs that the reader
/// may read.
///
/// There is one iterating task and one reading task.
final class ResultExchange<Output: Sendable>: Sendable {
  enum Arrival: Sendable {
    /// The reader has added a procedure.
    case added(ProcedureHandle<Output>)
    /// The procedure with this number has finished.
    case finished(Int)
    /// The inputs have ended.
    case inputEnded((any Error)?)
  }

  private struct State {
    var arrivals: ContiguousArray<Arrival> = []
    var credit = 0
    var consumer: OneShotSignal?
    var reader: OneShotSignal?
  }

  private let state = Mutex(State())

  func send(_ arrival: Arrival) {
    let waiting = state.withLock { state in
      state.arrivals.append(arrival)
      return state.consumer.take()
    }
    waiting?.signal()
  }

  func takeAll() -> ContiguousArray<Arrival> { state.withLock { $0.arrivals.takeAll() } }

  /// Returns a signal that is sent at the next arrival; `nil` if there are already arrivals.
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

  /// Waits until another input may be read. Returns `false` if the reader is cancelled first.
  func isWanted() async -> Bool {
    while !takeCredit(orWaitAt: nil) {
      let signal = OneShotSignal()
      if takeCredit(orWaitAt: signal) { return true }
      guard await signal.wait() else { return false }
    }
    return !Task.isCancelled
  }

  private func takeCredit(orWaitAt signal: OneShotSignal?) -> Bool {
    state.withLock { state in
      guard state.credit > 0 else {
        state.reader = signal
        return false
      }
      state.credit -= 1
      return true
    }
  }
}
