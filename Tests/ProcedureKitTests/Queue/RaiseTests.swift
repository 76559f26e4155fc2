import ProcedureKit
import TestSupport
import Testing

/// Tests rule Q7: a run has at least the priority of the runs that wait for it.
@Suite(.timeLimit(.atDepth)) struct RaiseTests {
  private let order = Box<[String]>([])

  private func task(_ name: String, _ priority: TaskPriority) -> ProcedureTask<Void, Void> {
    ProcedureTask(name, priority: priority) { [order] in order.update { $0.append(name) } }
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
    let own = order.value.filter { $0 != "high" }
    #expect(own == ["low", "medium"])
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
    #expect(order.value.first == "child", "\(order.value)")
  }

  @Test(
    "Q7: a dependent raises its dependency, however low the priorities are",
    arguments: [(9, 9, 17), (7, 5, 9), (2, 1, 3)])
  func lowPriorities(other: UInt8, dependency: UInt8, dependent: UInt8) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, isSuspended: true)
    let order = Box<[String]>([])
    func task(_ name: String, _ priority: UInt8) -> ProcedureTask<Void, Void> {
      ProcedureTask(name, priority: TaskPriority(rawValue: priority)) { order.update { $0.append(name) } }
    }
    queue.add(task("other", other))
    let dependencyHandle = queue.add(task("dependency", dependency))
    queue.add(task("dependent", dependent), after: [dependencyHandle])
    queue.resume()
    await queue.waitUntilIdle()
    #expect(order.value == ["dependency", "dependent", "other"])
  }

  @Test("Q7: a dependent of high priority raises the first of a chain of dependencies, however long it is")
  func raisedChain() async throws {
    let queue = ProcedureQueue("chain", maxConcurrentProcedures: 1, isSuspended: true)
    let started = Box<[String]>([])
    func task(_ name: String, _ priority: TaskPriority) -> ProcedureTask<Void, Void> {
      ProcedureTask(name, priority: priority) { started.update { $0.append(name) } }
    }
    let other = queue.add(task("other", .medium))
    let length = TestDepth.size(100_000)
    var last = queue.add(task("0", .low))
    for number in 1..<length { last = queue.add(task("\(number)", .low), after: [last]) }
    let urgent = queue.add(task("urgent", .high), after: [last])
    queue.resume()
    try await urgent.value
    try await other.value
    #expect(started.value.first == "0")
    #expect(started.value.count == length + 2)
  }
}
