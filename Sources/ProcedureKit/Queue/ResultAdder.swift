/// Internal. Adds the procedures of a result sequence: as children of the body that iterates, or as procedures of their own.
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
    exchange = ResultExchange(queue.core)
    parent = ProcedureContext.current?.run.living.map { ProcedureContext($0) }
    let priority = Task.currentPriority.rawValue
    // The reader has another task, and another priority.
    task = sequence.task.relabelled { traits in
      traits.rawPriority = traits.rawPriority ?? priority
      traits.collection = traits.name
    }
    elementName = sequence.elementName
  }

  /// Reserves room for one more procedure. Returns `false` if there is none at once and the caller is not to wait.
  func reserveRoom(waiting: Bool) async throws -> Bool {
    guard parent == nil, queue.core.limitsWaiting else { return true }
    let key = task.level.traits.key
    guard waiting else { return queue.core.reserveRoomAtOnce(for: key) }
    try await queue.core.reserveRoom(for: key)
    return true
  }

  /// Adds a procedure for which room was reserved.
  func add(_ input: Input) -> ProcedureHandle<Output> {
    var task = task
    if let name = elementName?(input) { task = task.relabelled { $0.name = name } }
    if let parent { return parent.add(task, input, to: queue.core, isElement: true) }
    return queue.submit(task, input, after: [], hasRoom: queue.core.limitsWaiting)
  }

  /// Lets the exchange know when the procedure has finished.
  func watch(_ handle: ProcedureHandle<Output>, _ number: Int) {
    handle.run.whenFinished { [exchange] _ in exchange.send(.finished(number)) }
  }

  /// Starts a task that reads the inputs, and adds a procedure for each.
  func start(
    _ reader: CancellableWork, end: Wakeup,
    _ read:
      @escaping @Sendable (
        _ isWanted: @Sendable () async -> Bool, _ take: @Sendable (Input) async throws -> Void
      ) async throws -> Void
  ) {
    let bindings = queue.core.carriers.map { $0.capture() }
    queue.core.startTask {
      await reader.executeHere {
        await Run.bind(bindings[...]) {
          await ProcedureContext.bound.withValue(parent) {
            do {
              try await read {
                await exchange.isWanted()
              } _: { input in
                _ = try await reserveRoom(waiting: true)
                let handle = add(input)
                exchange.send(.added(handle))
                // The iteration may have ended without having seen the procedure.
                if Task.isCancelled { handle.cancel() }
              }
              exchange.send(.inputEnded(nil))
            } catch {
              exchange.send(.inputEnded(error))
            }
          }
        }
        end.call()
      }
    }
  }
}
