import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rule Q7: a run has at least the priority of the runs that wait for it", .timeLimit(.atDepth))
struct PriorityRuleTests {
  private let order = Record<String>()

  private func task(_ name: String, _ priority: TaskPriority) -> ProcedureTask<Void, Void> {
    ProcedureTask(name, priority: priority) { order.append(name) }
  }

  @Test("Q7: a waiting claim raises the holder, which waits in line for its slot")
  func holder() async throws {
    let table = ResourceTable()
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, resources: table)
    let other = ProcedureQueue("other", resources: table)
    let (started, release) = (Signal(), Signal())
    queue.add(
      ProcedureTask("blocker") {
        started.set()
        await release.wait()
      })
    await started.wait()
    let low = queue.add(task("low", .low).exclusive("x"))
    let medium = queue.add(task("medium", .medium))
    try await eventually { low.state == .waiting && medium.state == .waiting }
    let high = other.add(task("high", .high).exclusive("x"))
    release.set()
    for handle in [low, medium, high] { try await handle.value }
    #expect(order.values.filter { $0 != "high" } == ["low", "medium"])
  }

  @Test("Q7: a dependent raises the children of its dependency")
  func children() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let (started, release) = (Signal(), Signal())
    let parent = queue.add(
      ProcedureTask("parent", priority: .low) { [self] in
        ProcedureContext.current?.produce(task("child", .low))
        started.set()
        await release.wait()
      })
    await started.wait()
    let medium = queue.add(task("medium", .medium))
    let high = queue.add(task("high", .high), after: [parent])
    release.set()
    for handle in [medium, high] { try await handle.value }
    #expect(order.values.first == "child", "\(order.values)")
  }

  @Test(
    "Q7: a dependent raises its dependency, however low the priorities are",
    arguments: [(9, 9, 17), (7, 5, 9), (2, 1, 3)])
  func lowPriorities(other: UInt8, dependency: UInt8, dependent: UInt8) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    queue.add(task("other", TaskPriority(rawValue: other)))
    let dependencyHandle = queue.add(task("dependency", TaskPriority(rawValue: dependency)))
    queue.add(task("dependent", TaskPriority(rawValue: dependent)), after: [dependencyHandle])
    queue.resume()
    await queue.waitUntilIdle()
    #expect(order.values == ["dependency", "dependent", "other"])
  }

  @Test("Q7: a dependent of high priority raises the first of a chain of dependencies, however long it is")
  func raisedChain() async throws {
    let queue = ProcedureQueue("chain", maxConcurrentProcedures: 1, isSuspended: true)
    let other = queue.add(task("other", .medium))
    let length = TestDepth.size(100_000)
    var last = queue.add(task("0", .low))
    for number in 1..<length { last = queue.add(task("\(number)", .low), after: [last]) }
    let urgent = queue.add(task("urgent", .high), after: [last])
    queue.resume()
    try await urgent.value
    try await other.value
    #expect(order.values.first == "0")
    #expect(order.values.count == length + 2)
  }

  @Test("Q7: a dependency of a run with higher priority is raised, with all its own dependencies")
  func raisedDependencies() async throws {
    let queue = ProcedureQueue("narrow", maxConcurrentProcedures: 1, isSuspended: true)
    let order = Locked<[String]>([])
    let task = { @Sendable (name: String, priority: TaskPriority) in
      ProcedureTask(name, priority: priority) { order { $0.append(name) } }
    }
    let middle = (0..<3).map { queue.add(task("middle \($0)", .medium)) }
    let first = queue.add(task("first", .low))
    let second = queue.add(task("second", .low), after: [first])
    let urgent = queue.add(task("urgent", .high), after: [second])
    queue.resume()
    try await urgent.value
    for handle in middle { try await handle.value }
    #expect(order.value == ["first", "second", "urgent", "middle 0", "middle 1", "middle 2"])
  }

  @Test("Q7: runs that a holder has started are raised when a run of higher priority waits for its claim")
  func raisedHolder() async throws {
    let queue = ProcedureQueue("narrow", maxConcurrentProcedures: 1, resources: ResourceTable())
    let order = Locked<[String]>([])
    let probe = ProbeProcedure<Void, Void>("probe")
    let holder = queue.add(
      ProcedureTask("holder", priority: .low) {
        try await probe.execute(())
        try await ProcedureContext.current?.produce(ProcedureTask("child") { order { $0.append("child") } }).value
      }.exclusive("a"))
    try await probe.waitUntilStarted()
    let urgent = queue.add(ProcedureTask("urgent", priority: .high) { order { $0.append("urgent") } }.exclusive("a"))
    let middle = queue.add(ProcedureTask("middle", priority: .medium) { order { $0.append("middle") } })
    probe.finish(())
    try await holder.value
    try await urgent.value
    try await middle.value
    #expect(order.value.firstIndex(of: "child")! < order.value.firstIndex(of: "middle")!, "\(order.value)")
  }
}
