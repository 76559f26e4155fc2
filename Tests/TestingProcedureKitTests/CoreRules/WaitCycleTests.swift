import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

private func read(_ events: AsyncStream<ProcedureEvent>) async { for await _ in events {} }

/// A handle that a body reads, and that exists only after the body. A body that could start before the handle is set waits for it.
private final class Later: Sendable {
  private let box = Locked<ProcedureHandle<Void>?>(nil)
  var handle: ProcedureHandle<Void> { box.value! }
  var isSet: Bool { box.value != nil }
  func set(_ handle: ProcedureHandle<Void>) { box { $0 = handle } }
}

/// The ways in which a body can wait for another procedure to end.
private enum Wait: CaseIterable {
  case value, outcome, result, caughtErrors, events, progress, idle, produced, run

  /// Waits for `other`, and throws the error of the wait if there is one.
  func callAsFunction(for other: Later, on queue: ProcedureQueue) async throws {
    switch self {
    case .value: try await other.handle.value
    case .outcome: if case .failed(let error) = await other.handle.outcome { throw error }
    case .result: try await other.handle.result.get()
    case .caughtErrors: _ = try await other.handle.catchingErrors().value.get()
    case .events: for await _ in other.handle.events {}
    case .progress: for await _ in other.handle.progress {}
    case .idle: await queue.waitUntilIdle()
    case .produced:
      try await ProcedureContext.current?.produce(ProcedureTask("child") { try await other.handle.value }).value
    case .run: try await queue.run(ProcedureTask("part") { try await other.handle.value })
    }
  }
}

@Suite("Rule R4: procedures that wait for themselves or each other", .timeLimit(.atDepth))
struct WaitCycleTests {
  private func deadlock(_ handle: ProcedureHandle<Void>) async -> ProcedureError? {
    guard let error = await handle.outcome.error(as: ProcedureError.self), error.kind == .exclusionDeadlock else {
      return nil
    }
    return error
  }

  /// Returns whether each wait leads to the next one.
  private func isCycle(_ waits: [ExclusionWait], of names: Set<String>) -> Bool {
    names.isSubset(of: waits.flatMap { [$0.procedure.name, $0.holder.name] }) && !waits.isEmpty
  }

  @Test(
    "A body that awaits itself throws an error that names it",
    arguments: [Wait.value, .outcome, .result, .caughtErrors, .events])
  fileprivate func itself(wait: Wait) async throws {
    let (queue, own) = (ProcedureQueue("q", isSuspended: true), Later())
    own.set(queue.add(ProcedureTask("ouroboros") { try await wait(for: own, on: queue) }))
    queue.resume()
    let error = await deadlock(own.handle)
    #expect(error?.waits.map { [$0.procedure.name, $0.holder.name] } == [["ouroboros", "ouroboros"]])
    let id = own.handle.identity
    #expect(error.map { "\($0)" }?.contains("\(id) waits for \(id) to finish") == true, "\(String(describing: error))")
  }

  @Test("A nested run that awaits the procedure around it throws an error that names both", arguments: 0..<6)
  func partOfItself(way: Int) async throws {
    let (queue, other, own) = (ProcedureQueue("q", isSuspended: true), ProcedureQueue("other"), Later())
    let inner = ProcedureTask("inner") { try await own.handle.value }
    let outer: ProcedureTask<Void, Void> =
      switch way {
      case 0: ProcedureTask("outer") { try await queue.run(inner) }
      case 1: ProcedureTask("outer") { try await other.run(inner) }
      case 2: ProcedureTask("outer") { try await inner() }
      case 3: ProcedureTask("outer") { try await ProcedureContext.current?.produce(inner).value }
      case 4: ProcedureTask("outer") { try await own.handle.value }.retry(.constant(.zero), maxAttempts: 2).map { $0 }
      default: ProcedureGraph("outer") { g in g.add(inner) }.procedureTask
      }
    own.set(queue.add(outer))
    queue.resume()
    let error = await deadlock(own.handle)
    #expect(isCycle(error?.waits ?? [], of: way == 4 ? ["outer"] : ["inner", "outer"]), "\(String(describing: error))")
  }

  @Test(
    "The error of a cycle names each wait of the cycle once, and leaves out runs that merely contain the waiting one")
  func namesOfWaits() async throws {
    let (queue, own, other) = (ProcedureQueue("q", isSuspended: true), Later(), Later())
    func names(_ error: ProcedureError?) -> Set<[String]> {
      Set(error?.waits.map { [$0.procedure.name, $0.holder.name] } ?? [])
    }
    // The inner run awaits a procedure around it, through levels and within another procedure.
    let inner = ProcedureTask("inner") {
      try await eventually { own.isSet }
      try await own.handle.value
    }.timeout(.seconds(60)).map {}
    let middle = ProcedureTask("middle") { try await inner() }.timeout(.seconds(60)).map {}
    let outer = ProcedureTask("outer") { try await middle() }
    let parent = queue.add(
      ProcedureTask("around") {
        if let child = ProcedureContext.current?.produce(outer) { own.set(child) }
        _ = await own.handle.outcome
      })
    queue.resume()
    _ = await parent.outcome
    let around = await deadlock(own.handle)
    #expect(names(around) == [["inner", "outer"], ["outer", "middle"], ["middle", "inner"]])
    #expect(around?.waits.count == 3)
    // Of the two runs, one waits in a nested procedure.
    queue.suspend()
    let part = ProcedureTask("part") { try await other.handle.value }
    own.set(queue.add(ProcedureTask("a") { try await queue.run(part) }))
    other.set(queue.add(ProcedureTask("b") { try await own.handle.value }))
    queue.resume()
    var errors: [ProcedureError] = []
    for later in [own, other] { if let error = await deadlock(later.handle) { errors.append(error) } }
    #expect(!errors.isEmpty)
    for error in errors {
      #expect(names(error) == [["part", "b"], ["b", "a"]])
      #expect(error.waits.count == 2)
    }
  }

  @Test("Hooks and conditions that await their own run throw")
  func hooksAndConditions() async throws {
    let (queue, own) = (ProcedureQueue("q", isSuspended: true), Later())
    own.set(
      queue.add(
        ProcedureTask("a") {}.condition("own") {
          try await own.handle.value
          return true
        }))
    queue.resume()
    let error = await own.handle.outcome.error(as: ProcedureError.self)
    #expect(error?.kind == .conditionFailed && (error?.underlying as? ProcedureError)?.kind == .exclusionDeadlock)
    queue.suspend()
    own.set(queue.add(ProcedureTask("b") {}.onWillFinish { _ in try await own.handle.value }))
    queue.resume()
    #expect(await deadlock(own.handle) != nil)
  }

  @Test(
    "A wait in an end hook throws if the awaited procedure waits for the body or the queue of the hook",
    arguments: 0..<8, [false, true])
  func endHook(way: Int, isLast: Bool) async throws {
    try await exploreRace("the hook waits last", "the hook waits first", schedules: TestDepth.count(200)) { env in
      let (queue, other) = (env.makeQueue(isSuspended: true), env.makeQueue("other"))
      let (later, order, error) = (Later(), Locked<[String]>([]), Locked<ProcedureError?>(nil))
      let waiting = ProcedureTask("waiting") {
        await pause(env, upTo: 3)
        order { $0.append("hook") }
        try await later.handle.value
      }
      let hook: @concurrent @Sendable () async -> Void = {
        do {
          if way < 6 { try await waiting() } else { try await queue.run(waiting) }
        } catch let thrown { error { $0 = thrown as? ProcedureError } }
      }
      let body = ProcedureTask("hooked") {}
      let hooked = isLast ? body.onDidFinish { _ in await hook() } : body.onWillFinish { _ in await hook() }
      let task =
        switch way {
        case 0: ProcedureTask("first") { try await queue.run(hooked) }
        case 1: ProcedureTask("first") { try await other.run(hooked) }
        case 2: ProcedureTask("first") { try await hooked() }
        case 3: hooked.map { $0 }
        case 4: ProcedureGraph("first") { g in g.add(hooked) }.procedureTask
        case 5: ProcedureTask("first") { _ = try await ProcedureContext.current?.shielded { try await hooked() } }
        default: hooked
        }
      let first = queue.add(task)
      later.set(
        queue.add(
          ProcedureTask("second") {
            await pause(env, upTo: 3)
            order { $0.append("body") }
            if way < 6 { try await first.value } else { await queue.waitUntilIdle() }
          }))
      queue.resume()
      let others = (await deadlock(first), await deadlock(later.handle))
      await queue.waitUntilIdle()
      let refusals = [error.value, others.0, others.1].compactMap(\.self)
      env.check(refusals.contains { $0.kind == .exclusionDeadlock }, "\(refusals)")
      env.tally(order.value.last == "hook" ? "the hook waits last" : "the hook waits first")
      await queue.shutDown()
      await other.shutDown()
    }
  }

  @Test(
    "Of two bodies that await each other, one throws an error that names both", arguments: Wait.allCases, Wait.allCases)
  fileprivate func two(first: Wait, second: Wait) async throws {
    try await exploreRace("a waits first", "b waits first", schedules: TestDepth.count(200)) { env in
      let order = Locked<[String]>([])
      let queues = [env.makeQueue("first", isSuspended: true), env.makeQueue("second", isSuspended: true)]
      let handles = [Later(), Later()]
      for (number, (name, wait)) in zip(["a", "b"], [first, second]).enumerated() {
        handles[number].set(
          queues[number].add(
            ProcedureTask(name) {
              await pause(env, upTo: 2)
              order { $0.append(name) }
              try await wait(for: handles[1 - number], on: queues[1 - number])
            }))
      }
      for queue in queues { queue.resume() }
      var waits: [[ExclusionWait]] = []
      for later in handles {
        guard let error = await later.handle.outcome.error(as: ProcedureError.self) else { continue }
        env.check(error.kind == .exclusionDeadlock, "\(error)")
        waits.append(error.waits)
      }
      env.check(
        !waits.isEmpty
          && waits.allSatisfy {
            isCycle($0, of: ["a"]) && (isCycle($0, of: ["b"]) || isCycle($0, of: ["child"]))
              || isCycle($0, of: ["b", "child"])
          }, "\(waits)")
      env.tally("\(order.value[0]) waits first")
      for queue in queues { await queue.shutDown() }
    }
  }

  @Test("A run within the kept resource of an ended holder throws if it awaits a run that is waiting for this resource")
  func keptResource() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let (queue, later) = (env.makeQueue(), Later())
      let (isInside, exists) = (Locked(false), Locked(false))
      let inside = ProcedureTask("inside") {
        isInside { $0 = true }
        try await eventually { exists.value }
        try await later.handle.value
      }.exclusive("a")
      let left = Locked<Task<Void, any Error>?>(nil)
      let holder = queue.add(
        ProcedureTask("holder") {
          let task = Task(executorPreference: env.executor) { try await inside() }
          left { $0 = task }
          try await eventually { isInside.value }
        }.exclusive("a"))
      try await holder.value
      // The resource of the holder is kept for the inner run, which the holder's body has left behind.
      later.set(queue.add(ProcedureTask("next") {}.exclusive("a")))
      exists { $0 = true }
      let error = await deadlock(later.handle)
      env.check(isCycle(error?.waits ?? [], of: ["inside", "next"]), "\(String(describing: error))")
      let end = await left.value?.result
      env.check(end.map { if case .failure = $0 { true } else { false } } == true)
      await queue.shutDown()
    }
  }

  @Test("A longer cycle names all its members, also through dependents, claims and nested runs", arguments: 3...6)
  func longer(count: Int) async throws {
    try await exploreSchedules(TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1, isSuspended: true)
      let handles = (0..<count).map { _ in Later() }
      let ways = (0..<count).map { _ in env.random.below(4) }
      for number in (0..<count).reversed() {
        let next = handles[(number + 1) % count]
        let way = number == count - 1 ? 0 : ways[number]
        let body = ProcedureTask("\(number)") {
          await pause(env, upTo: 2)
          switch way {
          case 1: try await queue.run(ProcedureTask("part") { try await next.handle.value })
          default: try await next.handle.value
          }
        }
        switch way {
        case 2: handles[number].set(queue.add(ProcedureTask("\(number)") {}, after: [next.handle]))
        case 3: handles[number].set(queue.add(body.exclusive("r\(number)")))
        default: handles[number].set(queue.add(body))
        }
      }
      queue.resume()
      var refused = 0
      for later in handles {
        guard let error = await later.handle.outcome.error(as: ProcedureError.self) else {
          env.check(false, "\(later.handle.name) finished")
          continue
        }
        let origin = error.kind == .dependencyFailed ? error.underlying as? ProcedureError ?? error : error
        env.check(origin.kind == .exclusionDeadlock, "\(error)")
        env.check(isCycle(origin.waits, of: Set((0..<count).map { "\($0)" })), "\(origin.waits)")
        refused += 1
      }
      env.check(refused == count)
      await queue.shutDown()
    }
  }

  @Test("A cycle of an awaited value and a claim refuses the claim, and names both")
  func mixed() async throws {
    try await exploreRace("claims first", "awaits first", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let later = Later()
      let order = Locked<[String]>([])
      let holder = queue.add(
        ProcedureTask("holder") {
          await pause(env, upTo: 4)
          order { $0.append("awaits") }
          try await later.handle.value
        }.exclusive("e"))
      later.set(
        queue.add(
          ProcedureTask("claimant") {}.exclusive("e").condition("is on time") {
            await pause(env, upTo: 4)
            order { $0.append("claims") }
            return true
          }))
      queue.resume()
      let error = await deadlock(later.handle)
      env.check(
        error.map { isCycle($0.waits, of: ["holder", "claimant"]) && $0.waits.count == 2 } ?? false,
        "\(String(describing: error))")
      env.check(await deadlock(holder) != nil)
      env.tally("\(order.value[0]) first")
      await queue.shutDown()
    }
  }

  @Test("Bodies that await each other in a cycle, and another procedure at the same time, throw")
  func several() async throws {
    try await exploreRace("0 waits last", "1 waits last", "2 waits last", schedules: TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(isSuspended: true)
      let handles = (0..<3).map { _ in Later() }
      let order = Locked<[Int]>([])
      let free = queue.add(ProcedureTask("free") { await pause(env) })
      for number in 0..<3 {
        handles[number].set(
          queue.add(
            ProcedureTask("\(number)") {
              async let other: Void = {
                order { $0.append(number) }
                try await handles[(number + 1) % 3].handle.value
              }()
              async let one: Void = free.value
              _ = try await (one, other)
            }))
      }
      queue.resume()
      for later in handles {
        let waits = await deadlock(later.handle)?.waits ?? []
        env.check(isCycle(waits, of: ["0", "1", "2"]), "\(waits)")
      }
      try await free.value
      env.tally("\(order.value[2]) waits last")
      await queue.shutDown()
    }
  }

  @Test("A body can read its own progress while other tasks of the body report")
  func ownProgress() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let handle = queue.add(
        ProcedureTask("reader") {
          guard let context = ProcedureContext.current else { return }
          async let reporting: Void = {
            for number in 1...3 {
              await pause(env, upTo: 1)
              context.progress.report(number, of: 3)
            }
          }()
          for await value in context.progress.values where value.fraction == 1 { break }
          await reporting
        })
      try await handle.value
      await queue.shutDown()
    }
  }

  @Test("A body that reads its own events while its other tasks continue, and bodies in a chain, do not deadlock")
  func noDeadlock() async throws {
    try await exploreSchedules(TestDepth.count(1_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1, isSuspended: true)
      let own = Later()
      own.set(
        queue.add(
          ProcedureTask("reader") {
            async let _: Void = read(own.handle.events)
            await pause(env, upTo: 3)
          }))
      let chain = (0..<4).reduce(into: [ProcedureHandle<Void>]()) { handles, number in
        let last = handles.last
        handles.append(queue.add(ProcedureTask("\(number)") { try await last?.value }))
      }
      queue.resume()
      try await own.handle.value
      for handle in chain { try await handle.value }
      await queue.shutDown()
    }
  }
}
