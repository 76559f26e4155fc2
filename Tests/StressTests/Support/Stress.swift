import Foundation
import Synchronization
import Testing
import TestingProcedureKit

/// Runs a scenario again and again, and holds what it leaves behind against what was there before.
struct Stress {
  private static let wish = ProcessInfo.processInfo.environment["PROCEDUREKIT_STRESS"]

  /// Whether the environment variable `PROCEDUREKIT_STRESS` is set.
  static let isAskedFor = wish != nil

  /// How many rounds: the variable's value, at least one.
  static let rounds = max(1, wish.flatMap(Int.init) ?? 1)

  /// Resident memory may differ by so many bytes: the allocator keeps what it was given back, as it likes.
  static let tolerance = 48 << 20

  /// Runs a scenario on a queue of its own, often; then nothing may be left.
  ///
  /// - Parameters:
  ///   - name: What the figures are printed with.
  ///   - width: The width of the queue.
  ///   - scenario: Fills the queue, whose events are counted, and returns when it has seen enough. Given the seed.
  /// - Throws: What the scenario throws.
  static func run(
    _ name: String, width: Int, _ scenario: (ProcedureQueue, Ledger, UInt64) async throws -> Void
  ) async throws {
    let clock = ContinuousClock()
    for warmUp in 0..<2 { _ = try await round(UInt64(warmUp), width: width, scenario) }
    let before = ResidentMemory.bytes
    let start = clock.now
    var runs = 0
    for number in 0..<rounds { runs += try await round(UInt64(number + 2), width: width, scenario) }
    let duration = clock.now - start
    if let before, let after = ResidentMemory.bytes {
      #expect(after - before < tolerance, "\(name) keeps \((after - before) >> 20) MB")
      print("stress: \(name): \(runs) runs in \(duration), resident \(before >> 20) MB, then \(after >> 20) MB")
    } else {
      print("stress: \(name): \(runs) runs in \(duration)")
    }
  }

  /// - Returns: How many runs there were.
  private static func round(
    _ seed: UInt64, width: Int, _ scenario: (ProcedureQueue, Ledger, UInt64) async throws -> Void
  ) async throws -> Int {
    let ledger = Ledger()
    let queue = ProcedureQueue("stress", maxConcurrentProcedures: width)
    let events = queue.events(bufferingNewest: .max)
    try await scenario(queue, ledger, seed)
    await queue.resume()
    await queue.waitUntilIdle()
    try await expectFullWidth(of: queue, width)
    await queue.shutDown()
    var count = EventCount()
    for await event in events { count.add(event) }
    #expect(count.complaints.isEmpty, "seed \(seed): \(count.complaints.prefix(5))")
    await ledger.expectNothingLeft(seed)
    return count.finishes
  }

  /// Shows that no slot has been lost, and none won.
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
