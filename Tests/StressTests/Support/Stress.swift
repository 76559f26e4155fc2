import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

/// Runs a scenario repeatedly, and compares the resources before and after it.
struct Stress {
  /// The number of rounds of a scenario.
  static let rounds = TestDepth.rounds

  /// The number of procedures in one round.
  static let many = TestDepth.load(20_000)

  /// Whether this process runs only stress tests, in which case its memory is that of a scenario.
  static let isAlone = TestDepth.isAtLeastGate && CommandLine.arguments.contains { $0.contains("StressTests") }

  /// The number of bytes by which resident memory may differ, because the allocator may keep memory that was freed.
  static let tolerance = 48 << 20

  /// Runs a scenario many times on its own queue, and checks that nothing is left behind.
  ///
  /// - Parameters:
  ///   - name: The name to print with the figures.
  ///   - width: The width of the queue.
  ///   - clock: The clock of the queue; `nil` for the system's.
  ///   - scenario: A function that receives the seed, fills the queue, whose events are counted, and returns when it has seen enough.
  /// - Throws: The error thrown by the scenario.
  static func run(
    _ name: String, width: Int, clock: (any Clock<Duration>)? = nil,
    _ scenario: (ProcedureQueue, RunCounts, UInt64) async throws -> Void
  ) async throws {
    guard isAlone, ResidentMemory.bytes != nil else {
      for number in 0..<rounds { _ = try await round(UInt64(number), width: width, clock, scenario) }
      return
    }
    for warmUp in 0..<2 { _ = try await round(UInt64(warmUp), width: width, clock, scenario) }
    let before = try #require(ResidentMemory.bytes)
    var runs = 0
    for number in 0..<rounds { runs += try await round(UInt64(number + 2), width: width, clock, scenario) }
    let after = try #require(ResidentMemory.bytes)
    #expect(after - before < tolerance, "\(name) keeps \((after - before) >> 20) MB")
    print("stress: \(name): \(runs) runs, resident \(before >> 20) MB, then \(after >> 20) MB")
  }

  /// - Returns: The number of runs.
  private static func round(
    _ seed: UInt64, width: Int, _ clock: (any Clock<Duration>)?,
    _ scenario: (ProcedureQueue, RunCounts, UInt64) async throws -> Void
  ) async throws -> Int {
    let counts = RunCounts()
    let queue = ProcedureQueue("stress", maxConcurrentProcedures: width, clock: clock ?? ContinuousClock())
    let events = queue.events(bufferingNewest: .max)
    try await scenario(queue, counts, seed)
    queue.resume()
    await queue.waitUntilIdle()
    try await expectFullWidth(of: queue, width)
    await queue.shutDown()
    var count = EventCount()
    for await event in events { count.add(event) }
    #expect(count.complaints.isEmpty, "seed \(seed): \(count.complaints.prefix(5))")
    await counts.expectNothingLeft(seed)
    return count.finishes
  }

  /// Checks that no slot has been lost or gained.
  private static func expectFullWidth(of queue: ProcedureQueue, _ width: Int) async throws {
    let snapshot = queue.snapshot()
    #expect(snapshot.slotsInUse == 0 && snapshot.procedures.isEmpty, "\(snapshot)")
    let probe = ProbeProcedure("at full width")
    let handles = (0..<(2 * width)).map { _ in queue.add(probe) }
    try await probe.waitUntilStarted(width)
    probe.finishAll()
    for handle in handles { try await handle.value }
    #expect(probe.monitor.most == width)
  }
}
