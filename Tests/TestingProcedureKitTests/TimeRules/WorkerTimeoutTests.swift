import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// An object whose release takes two seconds of virtual time.
private final class SlowToLetGoOf: Sendable {
  private let clock: VirtualClock

  init(_ clock: VirtualClock) { self.clock = clock }

  deinit { clock.advance(by: .seconds(2)) }
}

/// A virtual clock that can be interrupted once while it is read.
private struct InterruptedClock: Clock {
  let clock: VirtualClock
  let interruption = Locked<(@Sendable () -> Void)?>(nil)

  var now: VirtualClock.Instant {
    let now = clock.now
    let interruption = interruption { $0.take() }
    interruption?()
    return now
  }

  var minimumResolution: Duration { .zero }

  func sleep(until deadline: VirtualClock.Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: deadline, tolerance: tolerance)
  }
}

@Suite(.timeLimit(.atDepth)) struct WorkerTimeoutTests {
  @Test("C5: the release of objects by the previous run does not count as time of the body", arguments: [true, false])
  func lettingGo(hasOnlyBody: Bool) async throws {
    // A bare run ends in the critical section in which its worker takes the next run.
    var explorer = ScheduleExplorer(schedules: TestDepth.count(500, least: 100))
    explorer.expectedOutcomes = hasOnlyBody ? ["one worker"] : ["one worker", "two workers"]
    try await explorer.explore { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1, isSuspended: true)
      let workers = Locked<[Int]>([])
      let worker = { @Sendable in workers { $0.append(withUnsafeCurrentTask { $0?.hashValue ?? 0 }) } }
      let before = ProcedureTask {
        worker()
        return SlowToLetGoOf(env.clock)
      }
      queue.add(hasOnlyBody ? before : before.onDidFinish { _ in })
      let body = ProcedureTask {
        worker()
        try await env.clock.sleep(for: .milliseconds(500))
        return 7
      }
      let handle = queue.add(body.timeout(.seconds(1)))
      queue.resume()
      let outcome = await handle.outcome
      // Another worker can take the slot before the first one releases its objects, so the time passes during the body.
      let isOneWorker = workers.value.count == 2 && workers.value[0] == workers.value[1]
      env.check(isOneWorker || !hasOnlyBody)
      if isOneWorker {
        env.check(outcome.isFinished(7), "\(outcome)")
        env.check(env.elapsed == .milliseconds(2_500), "\(env.elapsed)")
      }
      env.tally(isOneWorker ? "one worker" : "two workers")
      await queue.shutDown()
    }
  }

  @Test("C5: time before the run was added does not count, and its events are in the order of their instants")
  func startedBeforeAdded() async throws {
    try await exploreSchedules(20) { env in
      let clock = InterruptedClock(clock: env.clock)
      let queue = ProcedureQueue(
        "q", maxConcurrentProcedures: 1, isSuspended: true, clock: clock, executor: env.executor,
        resources: env.resources)
      let added = Locked<ProcedureHandle<Int>?>(nil)
      queue.add(ProcedureTask {})
      let second = queue.add(
        ProcedureTask {
          clock.interruption {
            $0 = {
              env.clock.advance(by: .seconds(10))
              let handle = queue.add(env.sleeper(for: .milliseconds(500)).timeout(.seconds(1)), input: 7)
              added { $0 = handle }
            }
          }
        })
      queue.resume()
      env.check(await second.outcome.isFinished)
      await env.settle()
      let outcome = await added.value?.outcome
      env.check(outcome?.isFinished(7) ?? false, "\(String(describing: outcome))")
      if let events = added.value?.events {
        var instants: [ProcedureInstant] = []
        for await event in events { instants.append(event.instant) }
        env.check(instants.count == 5 && instants == instants.sorted(), "\(instants)")
      }
      await queue.shutDown()
    }
  }

  private enum Kind: CaseIterable {
    case plain, startHooks, finishHooks, retried, repeated, carried, judged, inner
  }

  @Test("Each of several consecutive runs has its own time, for every way of executing them", arguments: [0, 1, 2])
  func inARow(way: Int) async throws {
    try await exploreSchedules(TestDepth.count(150)) { env in
      let kind = Kind.allCases[env.random.below(Kind.allCases.count)]
      let queue = env.makeQueue(
        "q", maxConcurrentProcedures: way == 0 ? 1 : 4, isSuspended: true,
        contextCarriers: kind == .carried ? [ContextCarrier(Carried.$number)] : [])
      let spans = Locked<[Duration]>([])
      let handles = (0..<7).map { number in
        let length: Duration = number == 3 ? .seconds(3) : .milliseconds(800)
        let body = ProcedureTask("body") { (number: Int) in
          let start = env.clock.now
          defer { spans { [span = start.duration(to: env.clock.now)] in $0.append(span) } }
          try await env.clock.sleep(for: length)
          return number
        }
        var procedure =
          switch kind {
          case .retried: body.retry(.constant(.seconds(1)), maxAttempts: 2).timeout(.seconds(1))
          case .repeated: body.map { $0 }.timeout(.seconds(1)).timeout(.seconds(9))
          case .startHooks:
            body.timeout(.seconds(1)).onWillExecute { _ in try await env.clock.sleep(for: .seconds(3)) }
          case .finishHooks:
            body.timeout(.seconds(1)).onDidFinish { _ in try? await env.clock.sleep(for: .seconds(3)) }
          case .judged:
            body.timeout(.seconds(1)).condition("slow") {
              try? await env.clock.sleep(for: .seconds(3))
              return true
            }
          case .inner: body.timeout(.seconds(1)).map { $0 }
          default: body.timeout(.seconds(1))
          }
        if way != 0 { procedure = procedure.exclusive(way == 1 ? "x" : "x\(number % 2)") }
        return env.watch(queue.add(procedure, input: number))
      }
      handles[5].cancel()
      queue.resume()
      for (number, handle) in handles.enumerated() {
        let outcome = await handle.outcome
        switch number {
        case 3:
          env.check(outcome.procedureError?.kind == .timedOut, "\(kind) \(number) \(outcome)")
        case 5: env.check(outcome.isCancelled && outcome.timeout == nil, "\(kind) \(number) \(outcome)")
        default: env.check(outcome.isFinished(number), "\(kind) \(number) \(outcome)")
        }
      }
      env.check(
        spans.value.sorted() == [Duration](repeating: .milliseconds(800), count: 5) + [.seconds(1)],
        "\(kind) \(spans.value)")
      await queue.shutDown()
      env.check(queue.core.timers.count == 0)
      env.check(env.clock.sleeperCount == 0)
    }
  }

  private enum Carried {
    @TaskLocal static var number = 0
  }

  @Test(
    "The time of an added child starts with the child, and a run that is waiting for its children keeps its own time")
  func parts() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let child = Locked<ProcedureHandle<Int>?>(nil)
      let parent = ProcedureTask {
        let handle = ProcedureContext.current?.produce(env.sleeper(for: .seconds(3)).timeout(.seconds(1)), input: 1)
        child { $0 = handle }
        try? await env.clock.sleep(for: .seconds(5))
      }.onFailure(.collect).timeout(.seconds(20))
      let outcome = await queue.add(parent).outcome
      env.check(outcome.procedureError?.kind == .childrenFailed, "\(outcome)")
      env.check(env.elapsed == .seconds(6), "\(env.elapsed)")
      env.check(await child.value?.outcome.timeout == .seconds(1))
      env.check(queue.core.timers.count == 0)
      await queue.shutDown()
    }
  }

  @Test("Neither a stopped timer nor one that has fired retains a run or its input")
  func keepsNothing() async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: env.random.below(2) + 1)
      let live = Locked(0)
      let delay = Duration.seconds(env.random.below(3))
      do {
        let token = Token(live)
        let procedure = ProcedureTask { (token: Token) in
          try await env.clock.sleep(for: delay)
          return token
        }
        var handles = (0..<3).map { _ in queue.add(procedure.timeout(.seconds(1)), input: token) }
        handles.append(queue.add(procedure.timeout(.nanoseconds(Int64.max)), input: Token(live)))
        for handle in handles { _ = await handle.outcome }
      }
      queue.add(ProcedureTask {})
      await env.settle()
      env.check(live.value == 0, "\(live.value)")
      env.check(queue.core.timers.count == 0)
      await queue.shutDown()
    }
  }

  private final class Token: Sendable {
    private let live: Locked<Int>

    init(_ live: Locked<Int>) {
      self.live = live
      live { $0 += 1 }
    }

    deinit { live { $0 -= 1 } }
  }
}
