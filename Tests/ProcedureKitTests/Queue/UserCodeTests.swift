import ProcedureKit
import TestSupport
import Testing

@Suite("User code is never called under a lock", .timeLimit(.minutes(10)))
struct UserCodeTests {
  @Test("The description of a category can read the queue")
  func describedCategory() async throws {
    struct Category: Hashable, Sendable, CustomStringConvertible {
      let queue: ProcedureQueue
      var description: String { "one of \(queue.snapshot().procedures.count)" }
      static func == (one: Category, other: Category) -> Bool { one.queue === other.queue }
      func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(queue)) }
    }
    let queue = ProcedureQueue("q", resources: ResourceTable())
    let (holds, release) = (Signal(), Signal())
    let holder = queue.add(
      ProcedureTask("holder") {
        holds.set()
        await release.wait()
      }.exclusive(Category(queue: queue)))
    await holds.wait()
    let waiter = queue.add(ProcedureTask("waiter") {}.exclusive(Category(queue: queue)))
    try await eventually { "\(queue.snapshot())".contains("one of") }
    release.set()
    try await holder.value
    try await waiter.value
  }

  @Test("A category can use the queue when it is compared, hashed and released")
  func comparedCategory() async throws {
    let looks = Box(0)
    let table = ResourceTable()
    let queue = ProcedureQueue("q", resources: table)
    let (holds, release) = (Signal(), Signal())
    let holder = queue.add(
      ProcedureTask("holder") {
        holds.set()
        await release.wait()
      }.exclusive(LookingKey(queue, looks)))
    await holds.wait()
    let waiters = (0..<3).map { _ in queue.add(ProcedureTask("waiter") {}.exclusive(LookingKey(queue, looks))) }
    async let ran: Void = queue.run(ProcedureTask {}.shared(LookingKey(queue, looks)))
    async let inside: Void = queue.run(
      ProcedureTask { try await ProcedureTask {}.shared(LookingKey(queue, looks)).execute() })
    release.set()
    try await holder.value
    for waiter in waiters { try await waiter.value }
    _ = try await (ran, inside)
    await queue.waitUntilIdle()
    #expect(looks.value > 10 && table.count == 0)
  }

  @Test("A key can use the full queue that is looking for a procedure to replace")
  func comparedKeys() async throws {
    let looks = Box(0)
    for overflow in [QueueOverflow.replaceOldest, .replaceNewest] {
      let queue = ProcedureQueue("full", isSuspended: true, maxWaitingProcedures: 2, overflow: overflow)
      // Enough procedures for the queue to remove the cancelled ones from its lists.
      for index in 0..<200 {
        let handle = queue.add(ProcedureTask {}.keyed(by: LookingKey(queue, looks)))
        queue.add(ProcedureTask {}.keyed(by: LookingKey(queue, looks)))
        if index.isMultiple(of: 3) { handle.cancel() }
      }
      queue.cancelAll()
      queue.resume()
      await queue.waitUntilIdle()
    }
    #expect(looks.value > 800)
  }

  @Test("A key is compared when a procedure receives it, not when a queue is full or an execution is shared")
  func knownKeys() async throws {
    let looks = Box(0)
    let (queue, other) = (
      ProcedureQueue("full", isSuspended: true, maxWaitingProcedures: 1, overflow: .replaceOldest),
      ProcedureQueue("other")
    )
    let keyed = (0..<2).map { _ in ProcedureTask {}.keyed(by: LookingKey(other, looks)) }
    let shared = (0..<2).map { _ in ProcedureTask { 1 }.coalesced(by: LookingKey(other, looks)) }
    let before = looks.value
    #expect(before > 0)
    let first = queue.add(keyed[0])
    let second = queue.add(keyed[1])
    await #expect(throws: ProcedureError.self) { try await first.value }
    for task in shared { #expect(try await other.run(task) == 1) }
    queue.resume()
    try await second.value
    #expect(looks.value == before)
    withExtendedLifetime((keyed, shared)) {}
  }

  @Test("The reason of a cancelled follower can read the queue when the shared execution releases the reason")
  func releasedFollower() async throws {
    let (queue, looks) = (ProcedureQueue("q"), Box(0))
    let execute = { @Sendable (key: String) in
      ProcedureTask(key) { await untilCancelled() }.coalesced(by: key)
    }
    let isFollowed = { @Sendable (name: String) in
      queue.snapshot().procedures.contains { entry in
        if entry.procedure.name == name, case .resources? = entry.wait { true } else { false }
      }
    }
    // A snapshot reads the shared executions because of this follower.
    let others = [queue.add(execute("other")), queue.add(execute("other"))]
    let leader = queue.add(execute("work"))
    try await eventually { leader.state == .executing && isFollowed("other") }
    try await cancelFollower(queue.add(execute("work")), LookingReason(queue, looks)) { isFollowed("work") }
    #expect(looks.value == 0)
    leader.cancel()
    _ = await leader.outcome
    try await eventually { looks.value == 1 }
    for other in others { other.cancel() }
    await queue.waitUntilIdle()
  }

  private func cancelFollower(
    _ follower: ProcedureHandle<Void>, _ reason: LookingReason, whenever isFollowing: () -> Bool
  ) async throws {
    try await eventually { isFollowing() }
    follower.cancel(reason)
    _ = await follower.outcome
  }

  @Test("The handler of unobserved failures can release a stream of the failed procedure's progress")
  func releasedProgress() async throws {
    let (stream, failures) = (Box<AsyncStream<ProcedureProgress>?>(nil), Box<[String]>([]))
    var configuration = ProcedureQueue.Configuration("q", isSuspended: true)
    configuration.onUnobservedFailure = { failure in
      stream.update { $0 = nil }
      failures.update { $0.append(failure.procedure.name) }
    }
    let queue = ProcedureQueue(configuration)
    let first = queue.add(ProcedureTask("first") { throw TestError() })
    let second = queue.add(ProcedureTask("second") {}, after: first)
    stream.update { $0 = queue.add(ProcedureTask("third") {}, after: second).progress }
    queue.resume()
    try await eventually { failures.value == ["third"] }
  }
}

/// The reason of a cancellation, which reads a queue when it is released.
private final class LookingReason: Error, Sendable {
  private let queue: ProcedureQueue
  private let looks: Box<Int>

  init(_ queue: ProcedureQueue, _ looks: Box<Int>) { (self.queue, self.looks) = (queue, looks) }

  deinit {
    _ = queue.snapshot()
    looks.update { $0 += 1 }
  }
}

/// A key that reads and changes a queue whenever it is compared, hashed or released.
private final class LookingKey: Hashable, Sendable {
  let queue: ProcedureQueue
  let looks: Box<Int>

  init(_ queue: ProcedureQueue, _ looks: Box<Int>) { (self.queue, self.looks) = (queue, looks) }

  deinit { look() }

  private func look() {
    _ = queue.snapshot()
    queue.add(ProcedureTask {}).cancel()
    looks.update { $0 += 1 }
  }

  static func == (one: LookingKey, other: LookingKey) -> Bool {
    one.look()
    return one.queue === other.queue
  }

  func hash(into hasher: inout Hasher) {
    look()
    hasher.combine(ObjectIdentifier(queue))
  }
}
