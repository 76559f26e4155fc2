import Synchronization
import Testing
import TestingProcedureKit

/// Procedures that add themselves again, for ever, until they are cancelled.
extension StressTests {
  private static let links = 20_000

  /// Counts links, and lets somebody wait for a number of them.
  private final class Chain: Sendable {
    private let started = ProbeProcedure("a word for each thousand")
    private let count = Atomic(0)

    /// Adds itself to the queue, unless it is cancelled.
    func link(_ ledger: Ledger) -> ProcedureTask<Void, Void> {
      let token = ledger.token()
      return ProcedureTask("link") { [self] in
        defer { withExtendedLifetime(token) {} }
        await ledger.execute {
          let count = count.add(1, ordering: .relaxed).newValue
          if count == StressTests.links { started.finish() }
          guard let context = ProcedureContext.current, !context.isCancelled else { return }
          if let queue = context.queue { ledger.watch(queue.add(link(ledger))) }
        }
      }
    }

    /// Waits until so many links have executed.
    func waitUntilLong() async throws { try await started.execute(()) }
  }

  @Test("100 endless chains end when everything is cancelled, again and again")
  func cancelledChains() async throws {
    try await Stress.run("chains, cancelled", width: 3) { queue, ledger, _ in
      let chain = Chain()
      for _ in 0..<100 { ledger.watch(queue.add(chain.link(ledger))) }
      try await chain.waitUntilLong()
      let isOver = Atomic(false)
      async let cancelling: Void = {
        while !isOver.load(ordering: .relaxed) { await queue.cancelAll() }
      }()
      await queue.waitUntilIdle()
      isOver.store(true, ordering: .relaxed)
      await cancelling
    }
  }

  @Test("100 endless chains end when their scope is cancelled")
  func cancelledScope() async throws {
    try await Stress.run("chains in a scope", width: 3) { queue, ledger, _ in
      let chain = Chain()
      let scope = queue.add(
        ProcedureTask("scope") {
          await withProcedureQueue("inner", maxConcurrentProcedures: 2) { inner in
            for _ in 0..<100 { ledger.watch(inner.add(chain.link(ledger))) }
          }
        })
      try await chain.waitUntilLong()
      scope.cancel()
      #expect(await scope.outcome.isCancelled)
    }
  }

  @Test("Endless recursion through run ends when the first is cancelled, at a depth of 2,000")
  func recursion() async throws {
    try await Stress.run("recursion", width: 1) { queue, ledger, _ in
      let deep = ProbeProcedure("deep")
      deep.finishAll()
      @Sendable func descend(_ depth: Int) async throws {
        try Task.checkCancellation()
        if depth == 2_000 { try await deep.execute(()) }
        try await queue.run(
          ProcedureTask("descend") { try await ledger.execute { try await descend(depth + 1) } })
      }
      let handle = ledger.watch(queue.add(ProcedureTask("first") { try await descend(0) }))
      try await deep.waitUntilStarted()
      handle.cancel()
      #expect(await handle.outcome.isCancelled)
    }
  }
}
