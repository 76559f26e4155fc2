import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The environment of a random program: an exploration's schedules, or real threads.
protocol ProgramWorld: Sendable {
  /// Returns a random number from `0` up to, but not including, `bound`.
  func randomNumber(below bound: Int) -> Int

  /// Reports a failed expectation.
  func recordFailure(_ comment: String, fileID: StaticString, line: UInt)

  /// Counts an event.
  func tally(_ outcome: String)

  /// Adds the state of a run to the report of a deadlock.
  @discardableResult
  func watch<Output>(_ handle: ProcedureHandle<Output>) -> ProcedureHandle<Output>

  func recordEvents(of queue: ProcedureQueue) -> EventRecorder

  /// Creates a queue in this world, with the world's resource table.
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
}

extension ProgramWorld {
  /// Reports a failed expectation if `condition` is `false`.
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
      overflow: queue.overflow)
  }

  func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: executor) { await body() }
  }
}

/// Queues without an executor, whose bodies execute on the process's threads, in an arbitrary order.
///
/// The seed determines the random numbers, but not the order in which tasks request them. Failures are recorded with the seed.
final class RealThreads: ProgramWorld {
  let resources = ResourceTable()

  private let seed: UInt64
  private let generator: Locked<SeededGenerator>
  private let counts = Locked<[String: Int]>([:])

  init(seed: UInt64) {
    self.seed = seed
    generator = Locked(SeededGenerator(seed: seed))
  }

  /// The number of occurrences of each event.
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
      overflow: queue.overflow, resources: resources)
  }

  func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> { Task { await body() } }
}
