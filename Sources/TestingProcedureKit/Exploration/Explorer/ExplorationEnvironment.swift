import ProcedureKit
import Synchronization

/// The environment in which an exploration runs its body. Each schedule gets its own environment.
///
/// The exploration controls all waits on `clock` and all work on `executor`: the body, its child tasks, the default actors that these tasks
/// call, and tasks created with `Task { … }` (see `ScheduleExplorer.controlsGlobalTasks`).
public final class ExplorationEnvironment: Sendable {
  /// The executor of the schedule, which runs one job at a time.
  public var executor: any TaskExecutor { scheduleExecutor }

  let scheduleExecutor: ScheduleExecutor

  /// The clock of the schedule, which jumps to the next deadline when no job is ready.
  public let clock: VirtualClock

  /// The resource table that the schedule's queues share. It is independent of all other resource tables.
  public let resources = ResourceTable()

  /// The environment of the exploration that is executing the calling code; `nil` outside an exploration, and for work that the exploration
  /// does not control.
  public static var current: ExplorationEnvironment? { ScheduleExecutor.current?.environment }

  /// The number of the schedule, starting at `0`.
  public let schedule: Int

  /// The seed for the random numbers.
  let seed: UInt64

  private let generator: Mutex<SeededGenerator>
  private let journal = Mutex(Journal())

  private struct Journal {
    var failedChecks: [FailedCheck] = []
    var notes: [String] = []
    var tallies: [String: Int] = [:]
    var waits: [@Sendable () -> String?] = []
    var eventualities: [Eventuality] = []
  }

  init(executor: ScheduleExecutor, schedule: Int, seed: UInt64) {
    scheduleExecutor = executor
    clock = VirtualClock(ofExplorationOn: executor)
    self.schedule = schedule
    self.seed = seed
    generator = Mutex(SeededGenerator(seed: seed))
  }

  /// The schedule's random number generator, for calls such as `Int.random(in: 0..<10, using: &env.random)`.
  ///
  /// The random numbers depend only on the seed and the number of the schedule, so a replay draws the same numbers.
  public var random: SeededGenerator {
    get { generator.withLock { $0 } }
    set { generator.withLock { $0 = newValue } }
  }

  /// Records a failure if `condition` is `false`. The body continues regardless.
  ///
  /// The failure is reported when the schedule ends. The report shows the location of the call as `file:line`.
  public func check(
    _ condition: Bool, _ comment: @autoclosure () -> String = "the expectation is not met",
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    guard !condition else { return }
    record(FailedCheck(comment: comment(), fileID: "\(fileID)", line: line))
  }

  private func record(_ failure: FailedCheck) {
    scheduleExecutor.log("check failed: \(failure.comment)")
    journal.withLock { $0.failedChecks.append(failure) }
  }

  /// Records a failure unless `condition` becomes `true` between this call and the end of the schedule.
  ///
  /// The condition is checked after each step. If the schedule ends, deadlocks or reaches the step limit before the condition becomes
  /// `true`, the schedule fails, and the report shows the location of the call as `file:line`. Use this function for an event that must
  /// happen eventually. The parameter `comment` names the event. The closure `condition` is called between steps, on the threads of the
  /// exploration, and must not wait.
  public func eventually(
    _ comment: String, fileID: StaticString = #fileID, line: UInt = #line,
    _ condition: @escaping @Sendable () -> Bool
  ) {
    let failure = FailedCheck(comment: "never happened: \(comment)", fileID: "\(fileID)", line: line)
    journal.withLock { $0.eventualities.append(Eventuality(failure: failure, condition: condition)) }
    scheduleExecutor.watchEventualities()
  }

  private struct Eventuality {
    var failure: FailedCheck
    var condition: @Sendable () -> Bool
    var hasHappened = false
  }

  /// Checks each `eventually` condition that has not yet become `true`.
  func checkEventualities() {
    let pending = journal.withLock { $0.eventualities }
    for index in pending.indices where !pending[index].hasHappened && pending[index].condition() {
      journal.withLock { $0.eventualities[index].hasHappened = true }
    }
  }

  /// One failure for each `eventually` condition that was never `true`.
  var unfulfilled: [FailedCheck] {
    checkEventualities()
    return journal.withLock { $0.eventualities }.filter { !$0.hasHappened }.map(\.failure)
  }

  /// Throws an error if `condition` is `false`.
  ///
  /// - Throws: `FailedCheck` if `condition` is `false`.
  public func require(
    _ condition: Bool, _ comment: @autoclosure () -> String = "the requirement is not met",
    fileID: StaticString = #fileID, line: UInt = #line
  ) throws {
    guard !condition else { return }
    throw FailedCheck(comment: comment(), fileID: "\(fileID)", line: line)
  }

  /// Reports a failure to the exploration that is executing the calling code, in the same way as `check`.
  ///
  /// Use this function to forward the failed expectations of a test framework. The `.explored` trait does so for Swift Testing.
  ///
  /// - Returns: Whether the calling code belongs to an exploration. Outside explorations, the function has no effect.
  public static func report(_ failure: String, fileID: String = #fileID, line: Int = #line) -> Bool {
    guard let environment = current else { return false }
    environment.record(FailedCheck(comment: failure, fileID: fileID, line: UInt(clamping: line)))
    return true
  }

  /// Unwraps `value` or throws an error.
  ///
  /// - Throws: `FailedCheck` if `value` is `nil`.
  public func require<Value>(
    _ value: Value?, _ comment: @autoclosure () -> String = "a required value is missing",
    fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> Value {
    guard let value else { throw FailedCheck(comment: comment(), fileID: "\(fileID)", line: line) }
    return value
  }

  /// Records a note, which appears in the report if the schedule fails.
  public func note(_ text: String) {
    scheduleExecutor.log("note: \(text)")
    journal.withLock { $0.notes.append(text) }
  }

  /// Counts an outcome of a race. `exploreRace` uses the counts to verify that every outcome has occurred.
  ///
  /// `ExplorationSummary.tallies` contains the number of successful schedules for each outcome.
  public func tally(_ outcome: String) {
    journal.withLock { $0.tallies[outcome] = 1 }
  }

  /// Adds a line to the report if the schedule deadlocks.
  ///
  /// - Parameter description: A closure that returns the line, or `nil` to add no line. The closure is called only if the schedule
  ///   deadlocks.
  public func explainDeadlock(_ description: @escaping @Sendable () -> String?) {
    journal.withLock { $0.waits.append(description) }
  }

  /// The lines to add to a deadlock report.
  var waits: [String] { journal.withLock { $0.waits }.compactMap { $0() } }
  var tallies: [String: Int] { journal.withLock { $0.tallies } }
  var hasFailed: Bool { journal.withLock { !$0.failedChecks.isEmpty } }
  var failedChecks: [FailedCheck] { journal.withLock { $0.failedChecks } }
  var notes: [String] { journal.withLock { $0.notes } }
}

extension ExplorationEnvironment {
  /// Creates a queue with the schedule's executor and clock. A deadlock report shows what the queue's procedures are waiting for.
  ///
  /// - Parameters:
  ///   - name: The name of the queue in errors and deadlock reports.
  ///   - maxConcurrentProcedures: The maximum number of bodies that can execute at a time. Passing a value below 1 traps.
  ///   - isSuspended: Whether the queue starts suspended.
  ///   - maxWaitingProcedures: The maximum number of procedures that can wait on the queue. Passing a value below 1 traps.
  ///   - overflow: The behaviour when a procedure is added to a full queue.
  ///   - contextCarriers: The task-local values that `add` passes from its caller to the body.
  ///   - resources: The resource table of the queue. If it is `nil`, the schedule's own table is used.
  /// - Returns: The queue. Its tasks end after the queue is shut down or released.
  public func makeQueue(
    _ name: String = "queue", maxConcurrentProcedures: Int = .max, isSuspended: Bool = false,
    maxWaitingProcedures: Int = .max, overflow: QueueOverflow = .refuse, contextCarriers: [ContextCarrier] = [],
    resources: ResourceTable? = nil
  ) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration(
      name, maxConcurrentProcedures: maxConcurrentProcedures, isSuspended: isSuspended)
    configuration.maxWaitingProcedures = maxWaitingProcedures
    configuration.overflow = overflow
    configuration.contextCarriers = contextCarriers
    configuration.resources = resources ?? .shared
    return makeQueue(configuration)
  }

  /// Creates a queue from a configuration, with the clock, the executor and the seed of the schedule.
  ///
  /// The queue uses the schedule's resource table unless the configuration specifies a table other than the shared one. If the
  /// configuration has no log, the queue's messages are added to the trace in the failure report instead of being printed.
  public func makeQueue(_ configuration: ProcedureQueue.Configuration) -> ProcedureQueue {
    let queue = ProcedureQueue(adapted(configuration))
    explainDeadlock { [weak queue] in
      queue.map { $0.snapshot() }.flatMap { $0.procedures.isEmpty ? nil : "\($0)" }
    }
    return queue
  }

  /// Returns a copy of the configuration with the clock, the executor, the seed, the log and the resource table of the schedule. A log or a
  /// resource table that the configuration specifies is kept. Use the copy to create a scope.
  public func adapted(_ configuration: ProcedureQueue.Configuration) -> ProcedureQueue.Configuration {
    var configuration = configuration
    configuration.clock = clock
    configuration.executor = executor
    // A replay has the seed of the schedule, but not its number.
    configuration.seed = seed
    configuration.log = configuration.log ?? ProcedureLog(to: ExplorationLogHandler(executor: scheduleExecutor))
    if configuration.resources === ResourceTable.shared { configuration.resources = resources }
    return configuration
  }

  /// Adds the state of the run to the report if the schedule deadlocks. Returns `handle`, so you can write `env.watch(queue.add(p))`.
  @discardableResult
  public func watch<Output>(_ handle: ProcedureHandle<Output>) -> ProcedureHandle<Output> {
    explainDeadlock { handle.state == .finished ? nil : "\(handle)" }
    return handle
  }

  /// Starts recording the events of a queue. The recorder's task always runs on the schedule's executor.
  public func recordEvents(of queue: ProcedureQueue) -> EventRecorder {
    EventRecorder(queue, executor: executor)
  }
}

/// A log handler that adds the messages of a schedule's queues to the trace in the failure report.
struct ExplorationLogHandler: ProcedureLogHandler {
  let executor: ScheduleExecutor

  func handle(_ message: ProcedureLogMessage) {
    executor.log("\(message.level): \(message.text)")
  }
}
