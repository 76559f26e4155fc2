import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Where a random program is run: under an exploration's schedules, or on real threads.
protocol ProgramWorld: Sendable {
  /// Draws a number from `0` up to, but without, `bound`.
  func randomNumber(below bound: Int) -> Int

  /// Reports that an expectation does not hold.
  func recordFailure(_ comment: String, fileID: StaticString, line: UInt)

  /// Counts that something happened.
  func tally(_ outcome: String)

  /// Lets the report of a deadlock tell where a run stands.
  @discardableResult
  func watch<Output>(_ handle: ProcedureHandle<Output>) -> ProcedureHandle<Output>

  func recordEvents(of queue: ProcedureQueue) -> EventRecorder

  /// A queue in this world, with the table of this world.
  func makeQueue(_ configuration: ProgramQueue) -> ProcedureQueue

  /// Starts a task in this world.
  @discardableResult
  func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never>

  var resources: ResourceTable { get }
}

/// A queue of a random program.
struct ProgramQueue: Sendable {
  var name: String
  var width: Int
  var maxWaitingProcedures = Int.max
  var overflow = QueueOverflow.refuse
  var hooks: ProcedureHooks?
}

extension ProgramWorld {
  /// Reports that an expectation does not hold, unless it does.
  func check(
    _ condition: Bool, _ comment: @autoclosure () -> String, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    if !condition { recordFailure(comment(), fileID: fileID, line: line) }
  }
}

extension ExplorationEnvironment: ProgramWorld {
  func randomNumber(below bound: Int) -> Int { random.below(bound) }

  func recordFailure(_ comment: String, fileID: StaticString, line: UInt) {
    check(false, comment, fileID: fileID, line: line)
  }

  func makeQueue(_ queue: ProgramQueue) -> ProcedureQueue {
    makeQueue(
      queue.name, maxConcurrentProcedures: queue.width, maxWaitingProcedures: queue.maxWaitingProcedures,
      overflow: queue.overflow, hooks: queue.hooks)
  }

  func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: executor) { await body() }
  }
}

/// Queues without an executor: their bodies execute on the process's threads, in whatever order comes about.
///
/// The seed decides the random numbers, and not who draws them in which order. What is found wrong is recorded with the seed.
final class RealThreads: ProgramWorld {
  let resources = ResourceTable()

  private let seed: UInt64
  private let generator: Locked<SeededGenerator>
  private let counts = Locked<[String: Int]>([:])

  init(seed: UInt64) {
    self.seed = seed
    generator = Locked(SeededGenerator(seed: seed))
  }

  /// What has happened, and how often.
  var tallies: [String: Int] { counts.value }

  func randomNumber(below bound: Int) -> Int { generator { $0.below(bound) } }

  func recordFailure(_ comment: String, fileID: StaticString, line: UInt) {
    Issue.record("seed \(seed), \(fileID):\(line): \(comment)")
  }

  func tally(_ outcome: String) { counts { $0[outcome, default: 0] += 1 } }

  func watch<Output>(_ handle: ProcedureHandle<Output>) -> ProcedureHandle<Output> { handle }

  func recordEvents(of queue: ProcedureQueue) -> EventRecorder { EventRecorder(queue) }

  func makeQueue(_ queue: ProgramQueue) -> ProcedureQueue {
    ProcedureQueue(
      queue.name, maxConcurrentProcedures: queue.width, maxWaitingProcedures: queue.maxWaitingProcedures,
      overflow: queue.overflow, resources: resources, hooks: queue.hooks)
  }

  func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> { Task { await body() } }
}
