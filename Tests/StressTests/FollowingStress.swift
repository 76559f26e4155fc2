import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

extension StressTests {
  @Test("Runs that want the same, alone or with others, come from three tasks, while all else happens to their queues")
  func followers() async throws {
    for seed in 0..<UInt64(Stress.rounds * TestDepth.count(5, least: 2)) {
      let trial = FollowingTrial(seed: seed, width: seed % 2 == 0 ? .max : 2)
      async let disturbing: Void = trial.disturb()
      await withTaskGroup(of: Void.self) { adders in
        for adder in 0..<3 { adders.addTask { await trial.add(800, by: adder) } }
      }
      trial.isOver.store(true, ordering: .relaxed)
      await disturbing
      await trial.expectNothingLeft(isShutDown: seed % 3 == 0)
    }
  }
}

/// Two queues with one table, and bodies that look whether they are alone.
private final class FollowingTrial: Sendable {
  private let seed: UInt64
  private let table = ResourceTable()
  private let queues: [ProcedureQueue]
  private let handles = Mailbox<ProcedureHandle<Void>>()
  private let leftBehind = Mailbox<Task<Void, Never>>()
  private let holders = Mutex<[String: Int]>([:])
  private let violations = Atomic(0)
  /// Whether all has been added.
  let isOver = Atomic(false)

  init(seed: UInt64, width: Int) {
    self.seed = seed
    let table = table
    queues = (0..<2).map { ProcedureQueue("q\($0)", maxConcurrentProcedures: width, resources: table) }
  }

  private func queue(_ random: inout SeededGenerator) -> ProcedureQueue {
    queues[Int.random(in: 0..<5, using: &random) == 0 ? 1 : 0]
  }

  func add(_ count: Int, by adder: Int) async {
    var random = SeededGenerator(seed: seed &* 31 &+ UInt64(adder))
    for number in 0..<count {
      let keys = [["x"], ["x"], ["x"], ["x"], ["x"], ["x", "y"], []].randomElement(using: &random) ?? []
      let queue = queue(&random)
      var task = body("\(adder)-\(number)", keys, Int.random(in: 0..<40, using: &random), on: queue)
      for key in keys { task = task.exclusive(key) }
      let handle = queue.add(task.priority(Int.random(in: 0..<12, using: &random) == 0 ? .high : .medium))
      handles.put(handle)
      if Int.random(in: 0..<30, using: &random) == 0 { handle.cancel() }
      if Int.random(in: 0..<30, using: &random) == 0 { handle.raise(to: .high) }
      if Int.random(in: 0..<100, using: &random) == 0 { await Task.yield() }
    }
  }

  private func body(_ name: String, _ keys: [String], _ way: Int, on queue: ProcedureQueue) -> ProcedureTask<Void, Void>
  {
    let attempts = Counter()
    let task = ProcedureTask(name) { [self] in
      try await alone(keys) {
        switch way {
        case 0: try await queue.run(ProcedureTask("inner") {})
        case 1: if let key = keys.first { try await ProcedureTask("nested") {}.exclusive(key).execute() }
        case 2: throw Unlucky()
        case 3: await Task.yield()
        case 4:
          // It ends by itself; the trial waits for it.
          leftBehind.put(Task { try? await ProcedureTask("late") {}.exclusive("x").execute() })
        default: break
        }
      }
      if way == 5, attempts.next() < 3 { throw Unlucky() }
    }
    return way == 5 ? task.retry(.constant(.microseconds(100)), maxAttempts: 4) : task
  }

  private func alone(_ keys: [String], _ body: () async throws -> Void) async throws {
    let isAlone = holders.withLock { holders in
      for key in keys { holders[key, default: 0] += 1 }
      return keys.allSatisfy { holders[$0] == 1 }
    }
    if !isAlone { violations.wrappingAdd(1, ordering: .relaxed) }
    defer { holders.withLock { holders in for key in keys { holders[key, default: 0] -= 1 } } }
    try await body()
  }

  /// Suspends, resumes, looks, cancels and changes widths until it is over.
  func disturb() async {
    var random = SeededGenerator(seed: seed &+ 99)
    while !isOver.load(ordering: .relaxed) {
      let queue = queue(&random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0: await queue.suspend()
      case 1: await queue.setMaxConcurrentProcedures([1, 2, 8, .max].randomElement(using: &random) ?? 1)
      case 2: _ = queue.snapshot()
      case 3: await queue.cancelAll()
      default: for queue in queues { await queue.resume() }
      }
      for _ in 0..<Int.random(in: 0..<20, using: &random) { await Task.yield() }
    }
    for queue in queues { await queue.resume() }
  }

  func expectNothingLeft(isShutDown: Bool) async {
    if isShutDown { for queue in queues { await queue.shutDown() } }
    for handle in handles.takeAll() { _ = await handle.outcome }
    for queue in queues { await queue.waitUntilIdle() }
    for task in leftBehind.takeAll() { await task.value }
    #expect(violations.load(ordering: .relaxed) == 0, "seed \(seed)")
    #expect(table.count == 0, "seed \(seed)")
  }
}

private final class Counter: Sendable {
  private let count = Atomic(0)

  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}

private struct Unlucky: Error {}
