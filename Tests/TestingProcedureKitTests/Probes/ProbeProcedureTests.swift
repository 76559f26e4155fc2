import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct ProbeProcedureTests {
  @Test("A probe starts, waits for an instruction, and follows it")
  func words() async throws {
    let queue = ProcedureQueue()
    let probe = ProbeProcedure<Int, String>("probe")
    let handles = (0..<3).map { queue.add(probe, input: $0) }
    try await probe.waitUntilStarted(3)
    // An execution that has started may not be waiting yet.
    try await eventually { probe.waitingCount == 3 }
    #expect(probe.inputs.sorted() == [0, 1, 2])
    #expect(probe.monitor.most == 3)
    probe.finish("first")
    probe.fail(Reason())
    probe.finish("third")
    var values: [String] = []
    for handle in handles { values.append((try? await handle.value) ?? "failed") }
    #expect(values.sorted() == ["failed", "first", "third"])
    #expect((probe.startCount, probe.endCount, probe.returnCount, probe.failureCount) == (3, 3, 2, 1))
    await queue.shutDown()
  }

  @Test("Instructions can be given in advance, or to all executions at the same time")
  func wordsBefore() async throws {
    let probe = ProbeProcedure<Void, Int>()
    probe.finish(1)
    probe.finishAll(2)
    #expect(try await [probe.execute(), probe.execute(), probe.execute()] == [1, 2, 2])
    probe.failAll(Reason())
    await #expect(throws: Reason.self) { try await probe.execute() }
    try await probe.waitUntilEnded(4)
  }

  @Test("A cancelled execution ends, unless it ignores cancellation, and loses no instruction")
  func cancellation() async throws {
    try await exploreRace("cancelled", "finished", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let probe = ProbeProcedure<Void, Int>()
      let stubborn = ProbeProcedure<Void, Int>(ignoresCancellation: true)
      let (first, second) = (queue.add(probe), queue.add(stubborn))
      try await probe.waitUntilStarted()
      try await stubborn.waitUntilStarted()
      async let word: Void = {
        await pause(env)
        probe.finish(1)
      }()
      await pause(env)
      first.cancel()
      second.cancel()
      await pause(env)
      env.check(stubborn.waitingCount <= 1 && stubborn.endCount == 0)
      stubborn.finish(2)
      env.check(await second.outcome.isCancelled && stubborn.cancellationCount == 0 && stubborn.returnCount == 1)
      let outcome = await first.outcome
      await word
      if probe.cancellationCount == 1 {
        env.check(try await probe.execute() == 1, "the instruction is kept for the next execution")
      }
      env.tally(outcome.label)
      await queue.shutDown()
    }
  }

  @Test("The test decides whether a probe's condition is satisfied")
  func condition() async throws {
    let queue = ProcedureQueue()
    let probe = ConditionProbe("online")
    let handles = (0..<3).map { _ in queue.add(ProcedureTask { 1 }.condition(.probe(probe))) }
    try await probe.waitUntilEvaluated(3)
    probe.satisfy()
    probe.ignore()
    probe.fail(Reason())
    var outcomes: [String] = []
    for handle in handles { outcomes.append(await handle.outcome.label) }
    #expect(outcomes.sorted() == ["failed", "finished", "ignored"])
    #expect(probe.prepareCount == 3 && probe.evaluationCount == 3)
    probe.satisfyAll()
    #expect(try await queue.run(ProcedureTask { 2 }.condition(.probe(probe).silenced())) == 2)
    #expect(probe.prepareCount == 3)
    await queue.shutDown()
  }
}
