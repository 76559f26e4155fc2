import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Random programs of admissions under every order", .timeLimit(.atDepth))
struct AdmissionProgramTests {
  @Test(
    "L1, R1 to R4, C2 to C6: every run finishes once, and nothing overlaps, hangs or remains",
    arguments: 0..<2 as Range<UInt64>)
  func everything(seed: UInt64) async throws {
    let outcomes: Set = ["finished", "failed", "cancelled"]
    try await explorer(500, seed: seed, outcomes: outcomes).explore()
  }

  private func explorer(
    _ programs: Int, seed: UInt64, outcomes: Set<String>
  ) -> ProgramExplorer<WorldPrograms<AdmissionSystem>> {
    ProgramExplorer(of: AdmissionSystem.self, programs: TestDepth.count(programs), seed: seed, outcomes: outcomes)
  }

  @Test("The invariants also hold on queues without an executor, whose bodies execute on the process's threads")
  func realThreads() async throws {
    let tallies = try await explorer(1_000, seed: 2, outcomes: []).runOnRealThreads()
    for outcome in ["finished", "failed", "cancelled"] { #expect(tallies[outcome] != nil, "\(tallies)") }
  }

  @Test("Q2, R2: a suspended queue holds only the resources that its bodies are using")
  func suspendedRun() async throws {
    try await exploreRace("before", "after", schedules: TestDepth.count(2_000)) { env in
      let (queue, other) = (env.makeQueue("queue"), env.makeQueue("other"))
      let hasStarted = Locked(false)
      let first = other.add(ProcedureTask("first") { await pause(env, upTo: 3) }.exclusive("a"))
      let waiter = Task(executorPreference: env.executor) {
        try await queue.run(ProcedureTask("waiter") { hasStarted { $0 = true } }.exclusive("a"))
      }
      await pause(env)
      queue.suspend()
      try await first.value
      try await other.add(ProcedureTask("next") {}.exclusive("a")).value
      env.tally(hasStarted.value ? "before" : "after")
      queue.resume()
      try await waiter.value
      for queue in [queue, other] { await queue.shutDown() }
      env.check(env.resources.count == 0)
    }
  }

  @Test("A child that a task outliving its body produces at the last moment is awaited or refused, and never lost")
  func producedAtTheEnd() async throws {
    try await exploreRace("refused", "waited for", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue()
      let order = Locked<[String]>([])
      let escaped = Locked<Task<Void, Never>?>(nil)
      let parent = ProcedureTask("parent") {
        let context = ProcedureContext.current
        let task = Task(executorPreference: env.executor) {
          await pause(env, upTo: 4)
          let child = context?.produce(
            ProcedureTask("child") {
              await pause(env, upTo: 3)
              order { $0.append("child") }
            })
          _ = await child?.outcome
        }
        escaped { $0 = task }
        await pause(env, upTo: 2)
      }
      switch env.random.below(3) {
      case 0: try await queue.run(parent)
      case 1: try await queue.add(parent).value
      default: try await queue.run(ProcedureGraph("graph") { $0.add(parent) })
      }
      order { $0.append("parent") }
      await escaped.value?.value
      env.check(order.value.last == "parent", "\(order.value)")
      env.tally(order.value.count == 1 ? "refused" : "waited for")
      await queue.shutDown()
    }
  }
}
