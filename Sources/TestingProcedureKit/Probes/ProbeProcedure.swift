import Synchronization

/// A procedure that does what the test says, when the test says it, and remembers what was done with it.
///
/// ```swift
/// let probe = ProbeProcedure<Void, Int>("probe")
/// let handle = queue.add(probe)
/// try await probe.waitUntilStarted()   // its body executes now, and waits for a word
/// probe.finish(42)
/// #expect(try await handle.value == 42)
/// ```
///
/// Each execution waits for one word: `finish` or `fail`. Words are taken in the order in which they were said, by
/// executions in the order in which they started; a word that is said before is waiting for the execution. An execution
/// that is cancelled while it waits throws `CancellationError` at once, unless it ignores cancellation.
public final class ProbeProcedure<Input: Sendable, Output: Sendable>: Procedure {
  /// What errors and events call it.
  public let name: String

  /// Watches how many executions overlap; several probes may share one.
  public let monitor: ConcurrencyMonitor

  private let categories: [String]
  private let ignoresCancellation: Bool
  private let gate = Gate<Output>()
  private let started = Milestones()
  private let ended = Milestones()
  private let journal = Mutex(Journal())

  private struct Journal {
    var inputs: [Input] = []
    var returns = 0
    var failures = 0
    var cancellations = 0
  }

  /// A probe.
  ///
  /// - Parameters:
  ///   - name: What errors and events call it.
  ///   - categories: What its executions count as with the monitor.
  ///   - monitor: Watches how many executions overlap.
  ///   - ignoresCancellation: Whether an execution goes on waiting for a word when it is cancelled.
  public convenience init(
    _ name: String = "ProbeProcedure", categories: [String] = [], monitor: ConcurrencyMonitor = ConcurrencyMonitor(),
    ignoresCancellation: Bool = false
  ) {
    self.init(named: name, categories, monitor, ignoresCancellation: ignoresCancellation)
  }

  /// What the public initialisers have in common.
  fileprivate init(
    named name: String, _ categories: [String], _ monitor: ConcurrencyMonitor, ignoresCancellation: Bool
  ) {
    self.name = name
    self.categories = categories
    self.monitor = monitor
    self.ignoresCancellation = ignoresCancellation
  }

  // MARK: What it does

  /// Waits for a word and does as it says. Cancelling the caller ends the wait, unless that is ignored.
  ///
  /// - Throws: What `fail` says; `CancellationError` if it is cancelled while it waits.
  public func execute(_ input: Input) async throws -> Output {
    journal.withLock { $0.inputs.append(input) }
    monitor.enter(categories)
    started.increment()
    defer {
      monitor.leave(categories)
      ended.increment()
    }
    do {
      let output = try await gate.word(ignoringCancellation: ignoresCancellation)
      journal.withLock { $0.returns += 1 }
      return output
    } catch {
      journal.withLock { $0.failures += 1 }
      if Task.isCancelled, error is CancellationError { journal.withLock { $0.cancellations += 1 } }
      throw error
    }
  }

  // MARK: What it is told

  /// Lets one execution return `value`: the one that has waited for longest, or the next to come.
  public func finish(_ value: Output) {
    gate.say(.success(value))
  }

  /// Lets one execution throw `error`: the one that has waited for longest, or the next to come.
  public func fail(_ error: any Error) {
    gate.say(.failure(error))
  }

  /// Lets all executions return `value`: those that wait, and those to come for which there is no other word.
  public func finishAll(_ value: Output) {
    gate.sayToAll(.success(value))
  }

  /// Lets all executions throw `error`: those that wait, and those to come for which there is no other word.
  public func failAll(_ error: any Error) {
    gate.sayToAll(.failure(error))
  }

  // MARK: What has been done with it

  /// The number of executions that have started.
  public var startCount: Int { started.count }

  /// The number of executions that have ended, in whatever way.
  public var endCount: Int { ended.count }

  /// The number of executions that have returned a value.
  public var returnCount: Int { journal.withLock { $0.returns } }

  /// The number of executions that have thrown, those that were cancelled included.
  public var failureCount: Int { journal.withLock { $0.failures } }

  /// The number of executions that ended because they were cancelled.
  public var cancellationCount: Int { journal.withLock { $0.cancellations } }

  /// The number of executions that wait for a word.
  public var waitingCount: Int { gate.waitingCount }

  /// What the executions were given, in the order in which they started.
  public var inputs: [Input] { journal.withLock { $0.inputs } }

  /// Waits until so many executions have started. Cancelling the caller ends the wait.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  public func waitUntilStarted(_ count: Int = 1) async throws {
    try await started.wait(for: count)
  }

  /// Waits until so many executions have ended. Cancelling the caller ends the wait.
  ///
  /// The executed body may still have to return to its queue; the run has not finished yet.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  public func waitUntilEnded(_ count: Int = 1) async throws {
    try await ended.wait(for: count)
  }
}

extension ProbeProcedure where Input == Void, Output == Void {
  /// A probe that takes and returns nothing: `ProbeProcedure("upload")`.
  ///
  /// - Parameters:
  ///   - name: What errors and events call it.
  ///   - categories: What its executions count as with the monitor.
  ///   - monitor: Watches how many executions overlap.
  ///   - ignoresCancellation: Whether an execution goes on waiting for a word when it is cancelled.
  public convenience init(
    _ name: String = "ProbeProcedure", categories: [String] = [], monitor: ConcurrencyMonitor = ConcurrencyMonitor(),
    ignoresCancellation: Bool = false
  ) {
    self.init(named: name, categories, monitor, ignoresCancellation: ignoresCancellation)
  }
}

extension ProbeProcedure where Output == Void {
  /// Lets one execution return: the one that has waited for longest, or the next to come.
  public func finish() {
    finish(())
  }

  /// Lets all executions return: those that wait, and those to come for which there is no other word.
  public func finishAll() {
    finishAll(())
  }
}
