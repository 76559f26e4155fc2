import TestSupport
import Testing
import TestingProcedureKit

@Suite("Repeating", .timeLimit(.atDepth))
struct RepeatRuleTests {
  /// Returns a procedure that takes some time, counts its executions, and records their starts.
  private func counter(
    _ starts: Locked<[Duration]>, taking duration: Duration = .zero, _ env: ExplorationEnvironment
  ) -> ProcedureTask<Void, Int> {
    ProcedureTask("counter") {
      let count = starts { [now = env.elapsed] in
        $0.append(now)
        return $0.count
      }
      try await env.clock.sleep(for: duration)
      return count
    }
  }

  @Test("A delay is measured from the end of an execution, and the value is that of the last execution")
  func delays() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let starts = Locked<[Duration]>([])
      let counter = counter(starts, taking: .seconds(2), env)
      env.check(try await queue.run(counter.repeating([.seconds(1), .seconds(3)])) == 3)
      env.check(starts.value == [.zero, .seconds(3), .seconds(8)], "\(starts.value)")
      env.check(try await queue.add(counter.repeating(.immediate, maxCount: 4)).value == 7)
      env.check(try await queue.run(counter.repeating(.immediate) { $0 < 10 }) == 10)
      await queue.shutDown()
    }
  }

  @Test("At a fixed rate, missed executions are skipped")
  func rate() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let starts = Locked<[Duration]>([])
      let durations: [Duration] = [.seconds(1), .seconds(3), .seconds(7), .zero, .zero]
      let body = ProcedureTask {
        let number = starts { [now = env.elapsed] in
          $0.append(now)
          return $0.count - 1
        }
        try await env.clock.sleep(for: durations[number])
      }
      try await queue.run(body.repeating(every: .seconds(3), maxCount: 5))
      env.check(starts.value == [.zero, .seconds(3), .seconds(6), .seconds(15), .seconds(18)], "\(starts.value)")
      await queue.shutDown()
    }
  }

  @Test("A failure ends the repetition with its error")
  func failure() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let starts = Locked(0)
      let body = ProcedureTask {
        if starts({
          $0 += 1
          return $0
        }) == 3 {
          throw Reason()
        }
      }
      let outcome = await queue.add(body.repeating(.constant(.seconds(1)))).outcome
      env.check(outcome.error is Reason && starts.value == 3 && env.elapsed == .seconds(2))
      await queue.shutDown()
    }
  }

  @Test("Other procedures execute between two executions, and a cancellation ends the repetition immediately")
  func pauses() async throws {
    try await exploreRace("pausing", "executing", schedules: TestDepth.count(2_000)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let monitor = ConcurrencyMonitor()
      let body = ProcedureTask { try await monitor.during { try await env.clock.sleep(for: .seconds(1)) } }
      let handle = env.watch(queue.add(body.exclusive("x").repeating(.constant(.seconds(1))).exclusive("y")))
      let other = queue.add(
        ProcedureTask { await monitor.during { env.elapsed } }.exclusive("x").exclusive("y"))
      env.check(try await other.value == .seconds(1))
      let moment = Duration.seconds(2) + .milliseconds(500 * env.random.below(6))
      await env.wait(until: moment)
      await pause(env, upTo: 2)
      env.tally("\(handle.state)")
      handle.cancel()
      env.check(await handle.outcome.isCancelled)
      env.check(env.elapsed == moment && monitor.most == 1 && env.resources.count == 0)
      await queue.shutDown()
    }
  }

  @Test("The values are a sequence, each from a separate run; ending the iteration ends the repetition")
  func sequence() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let recorder = env.recordEvents(of: queue)
      let starts = Locked<[Duration]>([])
      let counter = counter(starts, env)
      var values: [Int] = []
      for try await value in queue.repeating(counter, .constant(.seconds(1))) {
        values.append(value)
        if value == 2 { try await env.clock.sleep(for: .seconds(2)) }
        if value == 3 { break }
      }
      env.check(values == [1, 2, 3] && starts.value == [.zero, .seconds(1), .seconds(4)], "\(starts.value)")
      env.check(values == [1, 2, 3] && env.clock.sleeperCount == 0)
      await queue.shutDown()
      try await recorder.waitUntilEnded()
      env.check(recorder.steps().count { $0 == .didFinish } == 3)
    }
  }

  @Test("A repetition at a fixed rate passes each value to its function, and skips the multiples that have passed")
  func valuesAtFixedRate() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue()
      let (starts, values) = (Locked<[Duration]>([]), Locked<[Int]>([]))
      let last = try await queue.run(
        counter(starts, env).repeating(every: .seconds(5), maxCount: 3) { value in
          values { $0.append(value) }
          if value == 1 { try? await env.clock.sleep(for: .seconds(6)) }
          return true
        })
      env.check(starts.value == [.zero, .seconds(10), .seconds(15)] && last == 3, "\(starts.value)")
      env.check(values.value == [1, 2], "\(values.value)")
      await queue.shutDown()
    }
  }

  @Test("Iterating stops at the first failure, and when the task is cancelled")
  func sequenceEnds() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      var iterator = queue.repeating(Flaky(env), .immediate).makeAsyncIterator()
      do {
        _ = try await iterator.next()
        env.check(false, "it did not fail")
      } catch {
        env.check(error as? Flaw == Flaw(number: 1))
      }
      env.check(try await iterator.next() == nil)
      let count = Locked(0)
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          do {
            for try await _ in queue.repeating(ProcedureTask {}, .constant(.seconds(1))) { count { $0 += 1 } }
            env.check(false, "it ended")
          } catch {
            env.check(error is CancellationError)
          }
        }
        await env.wait(until: .milliseconds(2_500))
        group.cancelAll()
        await group.waitForAll()
      }
      env.check(count.value == 3 && env.elapsed == .milliseconds(2_500))
      let values = try await queue.run(
        ProcedureTask("a body that iterates") {
          var values: [Int] = []
          for try await value in queue.repeating(
            env.sleeper(for: .seconds(1)), input: 7, .constant(.seconds(1)), maxCount: 3)
          {
            values.append(value)
          }
          return values
        })
      env.check(values == [7, 7, 7])
      await queue.shutDown()
    }
  }
}
