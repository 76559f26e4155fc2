import Synchronization

/// What the body of an exploration works with, anew for every schedule.
///
/// Everything made with `executor` and `clock` is under the exploration's control. The body itself, its child tasks,
/// and the default actors that they call are so anyway; a task made with `Task { … }` is not, unless it is given
/// `executorPreference: env.executor`.
public final class ExplorationEnvironment: Sendable {
  /// Runs the schedule's jobs, one at a time.
  public let executor: any TaskExecutor

  /// The schedule's time: it jumps to the next deadline whenever no job is ready.
  public let clock = VirtualClock()

  /// Where procedures on the schedule's queues claim what they exclude others from: nothing outside of it interferes.
  public let resources = ResourceTable()

  /// The number of this schedule, from `0`.
  public let schedule: Int

  private let generator: Mutex<SeededGenerator>
  private let journal = Mutex(Journal())

  private struct Journal {
    var failedChecks: [FailedCheck] = []
    var notes: [String] = []
    var tallies: [String: Int] = [:]
    var waits: [@Sendable () -> String?] = []
  }

  init(executor: any TaskExecutor, schedule: Int, seed: UInt64) {
    self.executor = executor
    self.schedule = schedule
    generator = Mutex(SeededGenerator(seed: seed))
  }

  /// The schedule's random numbers, as in `Int.random(in: 0..<10, using: &env.random)`.
  ///
  /// They belong to the seed and the number of the schedule, and a replay draws the same ones.
  public var random: SeededGenerator {
    get { generator.withLock { $0 } }
    set { generator.withLock { $0 = newValue } }
  }

  /// Reports that an expectation does not hold, unless it does, and goes on.
  ///
  /// The schedule fails when it has ended. The place of the call is reported as `file:line`.
  public func check(
    _ condition: Bool, _ comment: @autoclosure () -> String = "the expectation does not hold",
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    guard !condition else { return }
    let failure = FailedCheck(comment: comment(), fileID: "\(fileID)", line: line)
    journal.withLock { $0.failedChecks.append(failure) }
  }

  /// Ends the body by throwing, unless an expectation holds.
  ///
  /// - Throws: `FailedCheck` if `condition` is false.
  public func require(
    _ condition: Bool, _ comment: @autoclosure () -> String = "the requirement does not hold",
    fileID: StaticString = #fileID, line: UInt = #line
  ) throws {
    guard !condition else { return }
    throw FailedCheck(comment: comment(), fileID: "\(fileID)", line: line)
  }

  /// Reports to the exploration that the calling code is executed by what somebody else found wrong, as `check` does.
  ///
  /// This is how a test framework's own expectations can be heard; the guide <doc:TestingYourProcedures> shows it.
  ///
  /// - Returns: Whether there is such an exploration; outside of any, nothing is done.
  public static func report(_ failure: String, fileID: String = #fileID, line: Int = #line) -> Bool {
    guard let environment = ScheduleExecutor.current?.environment else { return false }
    let failure = FailedCheck(comment: failure, fileID: fileID, line: UInt(clamping: line))
    environment.journal.withLock { $0.failedChecks.append(failure) }
    return true
  }

  /// Unwraps a value, or ends the body by throwing if there is none.
  ///
  /// - Throws: `FailedCheck` if `value` is `nil`.
  public func require<Value>(
    _ value: Value?, _ comment: @autoclosure () -> String = "a required value is missing",
    fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> Value {
    guard let value else { throw FailedCheck(comment: comment(), fileID: "\(fileID)", line: line) }
    return value
  }

  /// Writes down what happens, to be printed if the schedule fails.
  public func note(_ text: String) {
    journal.withLock { $0.notes.append(text) }
  }

  /// Counts that something happened, so that `exploreRace` can tell that every outcome of a race has occurred.
  ///
  /// `ExplorationSummary.tallies` has the number of schedules that ended well for each such name.
  public func tally(_ outcome: String) {
    journal.withLock { $0.tallies[outcome] = 1 }
  }

  /// Adds a line to the report of a deadlock.
  ///
  /// - Parameter description: Called when nothing can go on; `nil` for nothing to tell.
  public func explainDeadlock(_ description: @escaping @Sendable () -> String?) {
    journal.withLock { $0.waits.append(description) }
  }

  /// What is known about who waits for what.
  var waits: [String] { journal.withLock { $0.waits }.compactMap { $0() } }
  var tallies: [String: Int] { journal.withLock { $0.tallies } }
  var failedChecks: [FailedCheck] { journal.withLock { $0.failedChecks } }
  var notes: [String] { journal.withLock { $0.notes } }
}
