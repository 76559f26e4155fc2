import Synchronization

/// A procedure whose executions are controlled and counted by a test.
///
/// ```swift
/// let probe = ProbeProcedure<Void, Int>("probe")
/// let handle = queue.add(probe)
/// try await probe.waitUntilStarted()   // its body is executing and waiting for an instruction
/// probe.finish(42)
/// #expect(try await handle.value == 42)
/// ```
///
/// Each execution waits for one instruction: `finish` or `fail`. Executions receive instructions in the order in which the executions
/// started. An instruction that is given while no execution is waiting is kept for the next execution. If a waiting execution is cancelled,
/// it throws `CancellationError` immediately, unless the probe ignores cancellation.
public final class ProbeProcedure<Input: Sendable, Output: Sendable>: Procedure {
  /// The name of the procedure in errors and events.
  public let name: String

  /// The monitor that counts concurrent executions. Several probes can share a monitor.
  public let monitor: ConcurrencyMonitor

  private let categories: [String]
  private let ignoresCancellation: Bool
  private let commands = CommandQueue<Output>()
  private let started = AwaitableCounter()
  private let ended = AwaitableCounter()
  private let journal = Mutex(Journal())

  private struct Journal {
    var inputs: [Input] = []
    var returns = 0
    var failures = 0
    var cancellations = 0
  }

  /// Creates a probe.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure in errors and events.
  ///   - categories: The categories in which the monitor counts the executions.
  ///   - monitor: The monitor that counts concurrent executions.
  ///   - ignoresCancellation: Whether a cancelled execution continues to wait for an instruction.
  public convenience init(
    _ name: String = "ProbeProcedure", categories: [String] = [], monitor: ConcurrencyMonitor = ConcurrencyMonitor(),
    ignoresCancellation: Bool = false
  ) {
    self.init(named: name, categories, monitor, ignoresCancellation: ignoresCancellation)
  }

  /// Initializes the properties for both public initializers, and adds the probe to the deadlock report of the current schedule.
  fileprivate init(
    named name: String, _ categories: [String], _ monitor: ConcurrencyMonitor, ignoresCancellation: Bool
  ) {
    self.name = name
    self.categories = categories
    self.monitor = monitor
    self.ignoresCancellation = ignoresCancellation
    ExplorationEnvironment.current?.explainDeadlock { [weak self] in
      guard let self, waitingCount > 0 else { return nil }
      return
        "probe \"\(name)\": \(waitingCount.counting("execution is", "executions are")) waiting for the test to call finish or fail"
    }
  }

  // MARK: Executing

  /// Waits for an instruction, and returns or throws accordingly. Cancelling the caller ends the wait, unless the probe ignores
  /// cancellation.
  ///
  /// - Throws: The error passed to `fail`, if the test makes this execution fail; `CancellationError` if the caller is already cancelled,
  ///   or is cancelled while it is waiting, unless the probe ignores cancellation.
  public func execute(_ input: Input) async throws -> Output {
    journal.withLock { $0.inputs.append(input) }
    monitor.enter(categories)
    started.increment()
    defer {
      monitor.leave(categories)
      ended.increment()
    }
    do {
      let output = try await commands.next(ignoringCancellation: ignoresCancellation)
      journal.withLock { $0.returns += 1 }
      return output
    } catch {
      journal.withLock { $0.failures += 1 }
      if Task.isCancelled, error is CancellationError { journal.withLock { $0.cancellations += 1 } }
      throw error
    }
  }

  // MARK: Instructions

  /// Makes the oldest waiting execution return `value`. If no execution is waiting, the next one returns it.
  public func finish(_ value: Output) {
    commands.send(.success(value))
  }

  /// Makes the oldest waiting execution throw `error`. If no execution is waiting, the next one throws it.
  public func fail(_ error: any Error) {
    commands.send(.failure(error))
  }

  /// Makes all waiting executions return `value`. Later executions also return it unless they receive another instruction.
  public func finishAll(_ value: Output) {
    commands.broadcast(.success(value))
  }

  /// Makes all waiting executions throw `error`. Later executions also throw it unless they receive another instruction.
  public func failAll(_ error: any Error) {
    commands.broadcast(.failure(error))
  }

  // MARK: Counts

  /// The number of executions that have started.
  public var startCount: Int { started.count }

  /// The number of executions that have ended by returning a value or throwing an error.
  public var endCount: Int { ended.count }

  /// The number of executions that have returned a value.
  public var returnCount: Int { journal.withLock { $0.returns } }

  /// The number of executions that have thrown an error, including cancelled executions.
  public var failureCount: Int { journal.withLock { $0.failures } }

  /// The number of executions that ended because they were cancelled.
  public var cancellationCount: Int { journal.withLock { $0.cancellations } }

  /// The number of executions that are waiting for an instruction.
  public var waitingCount: Int { commands.waitingCount }

  /// The inputs of the executions, in the order in which the executions started.
  public var inputs: [Input] { journal.withLock { $0.inputs } }

  /// Waits until `count` executions have started. Cancelling the caller ends the wait.
  ///
  /// - Throws: `CancellationError` if the task is already cancelled, or is cancelled while it is waiting.
  public func waitUntilStarted(_ count: Int = 1) async throws {
    try await started.wait(for: count)
  }

  /// Waits until `count` executions have ended. Cancelling the caller ends the wait.
  ///
  /// The runs to which these executions belong might not have finished when the function returns.
  ///
  /// - Throws: `CancellationError` if the task is already cancelled, or is cancelled while it is waiting.
  public func waitUntilEnded(_ count: Int = 1) async throws {
    try await ended.wait(for: count)
  }
}

extension ProbeProcedure: InputlessProcedure where Input == Void {
  /// Waits for an instruction; see ``execute(_:)``.
  ///
  /// - Throws: The errors that ``execute(_:)`` throws.
  public func execute() async throws -> Output {
    try await execute(())
  }
}

extension ProbeProcedure where Input == Void, Output == Void {
  /// Creates a probe that takes no input and returns no value: `ProbeProcedure("upload")`.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure in errors and events.
  ///   - categories: The categories in which the monitor counts the executions.
  ///   - monitor: The monitor that counts concurrent executions.
  ///   - ignoresCancellation: Whether a cancelled execution continues to wait for an instruction.
  public convenience init(
    _ name: String = "ProbeProcedure", categories: [String] = [], monitor: ConcurrencyMonitor = ConcurrencyMonitor(),
    ignoresCancellation: Bool = false
  ) {
    self.init(named: name, categories, monitor, ignoresCancellation: ignoresCancellation)
  }
}

extension ProbeProcedure where Output == Void {
  /// Finishes the oldest waiting execution, or the next execution if none is waiting.
  public func finish() {
    finish(())
  }

  /// Finishes all waiting executions, and all later executions that have no other instruction.
  public func finishAll() {
    finishAll(())
  }
}
