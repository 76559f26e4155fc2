import Synchronization
import Testing
import TestingProcedureKit

/// Tests procedures that add themselves again, endlessly, until they are cancelled.
extension StressTests {
  private static let links = Stress.many

  /// A counter of links, which lets a task wait for a number of links.
  private final class Chain: Sendable {
    private let started = ProbeProcedure("a word for each thousand")
    private let links = Atomic(0)

    /// Returns a procedure that adds itself to the queue unless it is cancelled.
    func link(_ counts: RunCounts) -> ProcedureTask<Void, Void> {
      let token = counts.token()
      return ProcedureTask("link") { [self] in
        defer { withExtendedLifetime(token) {} }
        await counts.execute {
          self.count()
          guard let context = ProcedureContext.current, !context.isCancelled else { return }
          if let queue = context.queue { counts.watch(queue.add(link(counts))) }
        }
      }
    }

    /// Counts one more link.
    func count() {
      if links.add(1, ordering: .relaxed).newValue == StressTests.links { started.finish() }
    }

    /// Waits until the given number of links have executed.
    func waitUntilLong() async throws { try await started.execute(()) }
  }

  @Test("100 endless chains end whenever everything is cancelled")
  func cancelledChains() async throws {
    try await Stress.run("chains, cancelled", width: 3) { queue, counts, _ in
      let chain = Chain()
      for _ in 0..<100 { counts.watch(queue.add(chain.link(counts))) }
      try await chain.waitUntilLong()
      let isOver = Atomic(false)
      async let cancelling: Void = {
        while !isOver.load(ordering: .relaxed) { queue.cancelAll() }
      }()
      await queue.waitUntilIdle()
      isOver.store(true, ordering: .relaxed)
      await cancelling
    }
  }

  @Test("100 endless chains end when their scope is cancelled")
  func cancelledScope() async throws {
    try await Stress.run("chains in a scope", width: 3) { queue, counts, _ in
      let chain = Chain()
      let scope = queue.add(
        ProcedureTask("scope") {
          try await withProcedureQueue("inner", maxConcurrentProcedures: 2) { inner in
            for _ in 0..<100 { counts.watch(inner.add(chain.link(counts))) }
          }
        })
      try await chain.waitUntilLong()
      scope.cancel()
      #expect(await scope.outcome.isCancelled)
    }
  }

  @Test("Endless recursion through `run` ends when the first run is cancelled, at a great depth")
  func recursion() async throws {
    try await Stress.run("recursion", width: 1) { queue, counts, _ in
      let deep = ProbeProcedure("deep")
      deep.finishAll()
      @Sendable func descend(_ depth: Int) async throws {
        try Task.checkCancellation()
        if depth == Stress.many / 10 { try await deep.execute(()) }
        try await queue.run(
          ProcedureTask("descend") { try await counts.execute { try await descend(depth + 1) } })
      }
      let handle = counts.watch(queue.add(ProcedureTask("first") { try await descend(0) }))
      try await deep.waitUntilStarted()
      handle.cancel()
      #expect(await handle.outcome.isCancelled)
    }
  }

  /// Returns a procedure that counts its executions, so that a task can wait for a number of them.
  private func endless(_ counts: RunCounts, _ chain: Chain) -> ProcedureTask<Void, Void> {
    let token = counts.token()
    return ProcedureTask("endless") {
      defer { withExtendedLifetime(token) {} }
      chain.count()
    }
  }

  @Test("100 endless repetitions end when everything is cancelled, whether they are executing, in line or pausing")
  func cancelledRepetitions() async throws {
    try await Stress.run("repetitions, cancelled", width: 3) { queue, counts, _ in
      let chain = Chain()
      for number in 0..<100 {
        let schedule: Schedule = number % 2 == 0 ? .immediate : .constant(.microseconds(number))
        let procedure = endless(counts, chain).exclusive("x \(number % 7)")
        counts.watch(
          queue.add(number % 4 < 2 ? procedure.repeating(schedule) : procedure.repeating(every: .microseconds(10))))
      }
      try await chain.waitUntilLong()
      queue.cancelAll()
    }
  }

  @Test("100 procedures that fail and are retried forever end when everything is cancelled")
  func cancelledRetries() async throws {
    try await Stress.run("retries, cancelled", width: 3) { queue, counts, _ in
      let chain = Chain()
      for number in 0..<100 {
        let failing = endless(counts, chain).map { _ in throw CapacityError() }
        counts.watch(
          queue.add(failing.timeout(.seconds(60)).retry(.constant(.microseconds(number))).exclusive("y \(number % 7)")))
      }
      try await chain.waitUntilLong()
      queue.cancelAll()
    }
  }

  private struct CapacityError: Error {}
}
