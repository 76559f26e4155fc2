import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKitPacing

/// A request, with the times that a server takes for its copies.
private struct Request: Sendable {
  var id: Int
  var first: Duration
  var second = Duration.seconds(1)
  var fails = false
}

/// A server that records when the copies of each request arrive.
private final class Server: Sendable {
  let arrivals = Locked<[Int: [Duration]]>([:])
  private let clock: VirtualClock

  init(_ clock: VirtualClock) { self.clock = clock }

  /// The procedure that sends a request. Its value is the number of the copy.
  var request: ProcedureTask<Request, Int> {
    ProcedureTask("request") { [self] request in
      let now = clock.now.offset
      arrivals.update { $0[request.id, default: []].append(now) }
      let copy = arrivals.value[request.id]?.count ?? 0
      try await clock.sleep(for: copy == 1 ? request.first : request.second)
      if request.fails { throw Flaw(number: request.id) }
      return copy
    }
  }

  /// The time between the copies of a request; `nil` if there is only one copy.
  func delay(of id: Int) -> Duration? {
    guard let arrivals = arrivals.value[id], arrivals.count == 2 else { return nil }
    return arrivals[1] - arrivals[0]
  }

  var secondCopyCount: Int { arrivals.value.values.count { $0.count == 2 } }
}

@Suite("Hedging by percentile", .timeLimit(.atDepth))
struct HedgedTests {
  @Test("The second copy starts once the first has taken longer than the percentile of the latest successful runs")
  func percentile() async throws {
    try await exploreSchedules(TestDepth.count(20)) { env in
      let (queue, server) = (env.makeQueue(maxConcurrentProcedures: 2), Server(env.clock))
      let request = server.request.hedged(
        afterPercentile: 95, initialDelay: .seconds(1_000), minSamples: 20, maxSamples: 20)
      for seconds in 1...20 {
        _ = try await queue.run(request, input: Request(id: seconds, first: .seconds(seconds)))
      }
      env.check(server.secondCopyCount == 0)
      // One of the twenty runs has taken longer than 19 seconds.
      env.check(try await queue.run(request, input: Request(id: 21, first: .seconds(19))) == 1)
      let start = env.clock.now.offset
      env.check(try await queue.run(request, input: Request(id: 22, first: .seconds(100))) == 2)
      env.check(server.delay(of: 21) == nil && server.delay(of: 22) == .seconds(19) + .nanoseconds(1))
      env.check(env.clock.now.offset - start == .seconds(20) + .nanoseconds(1))
      // The latest twenty durations are now those from 3 to 20 seconds, 19 seconds, and the 20 seconds of the run with two copies.
      env.check(try await queue.run(request, input: Request(id: 23, first: .seconds(100))) == 2)
      env.check(server.delay(of: 23) == .seconds(20) + .nanoseconds(1), "\(server.arrivals.value[23] ?? [])")
      await queue.shutDown()
    }
  }

  @Test("Until enough runs have succeeded, the initial delay applies; failed and cancelled runs do not count")
  func initialDelay() async throws {
    try await exploreSchedules(TestDepth.count(50)) { env in
      let (queue, server) = (env.makeQueue(), Server(env.clock))
      let request = server.request.hedged(
        afterPercentile: 50, initialDelay: .seconds(5), minSamples: 2, maxSamples: 10, maxShare: 1)
      let (fast, slow) = (Duration.seconds(1), Duration.seconds(100))
      _ = try await queue.run(request, input: Request(id: 1, first: fast))
      let failed = await queue.add(request, input: Request(id: 2, first: fast, fails: true)).outcome
      env.check(failed.error as? Flaw == Flaw(number: 2))
      let cancelled = queue.add(request, input: Request(id: 3, first: slow, second: slow))
      try await env.clock.sleep(for: .seconds(7))
      cancelled.cancel()
      env.check(await cancelled.outcome.isCancelled && server.delay(of: 3) == .seconds(5))
      env.check(try await queue.run(request, input: Request(id: 4, first: slow)) == 2)
      env.check(server.delay(of: 4) == .seconds(5))
      // The durations are now 1 second and 6 seconds.
      env.check(try await queue.run(request, input: Request(id: 5, first: slow)) == 2)
      env.check(server.delay(of: 5) == .seconds(1) + .nanoseconds(1))
      await queue.shutDown()
    }
  }

  @Test("A slow run has a second copy, however it is run", arguments: Way.allCases)
  func ways(way: Way) async throws {
    try await exploreSchedules(TestDepth.count(100)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: env.random.below(2) == 0 ? 1 : .max)
      let server = Server(env.clock)
      let isNarrow = queue.maxConcurrentProcedures == 1
      let request = server.request.hedged(afterPercentile: 100, initialDelay: .seconds(1_000), minSamples: 1)
      env.check(await way.outcome(of: request, Request(id: 1, first: .seconds(2)), on: queue).isFinished(1))
      // The second copy needs a slot of its own, so on a queue of width one, it waits until the first copy has ended, and is cancelled.
      let outcome = await way.outcome(of: request, Request(id: 2, first: .seconds(9)), on: queue)
      env.check(outcome.isFinished(isNarrow ? 1 : 2), "\(outcome)")
      let delay = server.delay(of: 2)
      env.check(
        isNarrow ? delay ?? .seconds(9) == .seconds(9) : delay == .seconds(2) + .nanoseconds(1), "\(delay ?? .zero)")
      env.check(queue.snapshot().slotsInUse == 0 && env.clock.sleeperCount == 0)
      await queue.shutDown()
    }
  }

  @Test("If the first copy ends at the moment at which the second one starts, the run ends once, with one success")
  func endAtDelay() async throws {
    try await exploreRace("one copy", "two copies", schedules: TestDepth.count(1_000)) { env in
      let (queue, server) = (env.makeQueue(), Server(env.clock))
      let request = server.request.hedged(afterPercentile: 95, initialDelay: .seconds(2))
      let handle = queue.add(request, input: Request(id: 1, first: .seconds(2)))
      let value = try await handle.value
      env.check(value == 1 && env.clock.now.offset == .seconds(2))
      env.tally(server.secondCopyCount == 0 ? "one copy" : "two copies")
      env.check(queue.snapshot().slotsInUse == 0 && env.clock.sleeperCount == 0)
      await queue.shutDown()
    }
  }

  @Test("When a server becomes slow, the share of second copies is limited")
  func share() async throws {
    try await exploreRace("together", "one after another", schedules: TestDepth.count(300)) { env in
      let (queue, server) = (env.makeQueue(), Server(env.clock))
      let request = server.request.hedged(
        afterPercentile: 95, initialDelay: .seconds(1), minSamples: 10, maxSamples: 10, maxShare: 0.2)
      // All requests are slow, so each of them would have a second copy.
      let isTogether = env.random.below(2) == 0
      await withTaskGroup { group in
        for id in 1...30 {
          if !isTogether { try? await env.clock.sleep(for: .milliseconds(100 * (1 + env.random.below(5)))) }
          group.addTask { _ = try? await queue.run(request, input: Request(id: id, first: .seconds(50))) }
        }
      }
      let limit = isTogether ? 2...2 : 4...6
      env.check(limit.contains(server.secondCopyCount), "\(server.secondCopyCount) second copies")
      env.tally(isTogether ? "together" : "one after another")
      await queue.shutDown()
    }
  }

  // MARK: The machine

  @Test("The delay and the share are those of a naive model")
  func model() {
    for seed in 0..<UInt64(TestDepth.count(200, least: 50)) {
      var random = SeededGenerator(seed: seed)
      let percentile: Double = random.pick(from: [50, 90, 95, 99.9, 100])
      let maxSamples = Int.random(in: 1...40, using: &random)
      let minSamples = Int.random(in: 1...maxSamples, using: &random)
      let share: Double = random.pick(from: [0.01, 0.1, 0.29, 0.5, 1])
      var machine = HedgingMachine(
        percentile: percentile, initialDelay: .seconds(7), minSamples: minSamples, maxSamples: maxSamples,
        maxShare: share)
      var (durations, hedges, runs) = ([Duration](), [Int](), 0)
      for _ in 0..<300 {
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
          runs += 1
          let latest = durations.suffix(maxSamples)
          let required = percentile / 100 * Double(latest.count) - 1e-9
          let within = latest.sorted().first { limit in Double(latest.count { $0 <= limit }) >= required }
          var expected = Duration.seconds(7)
          if let within, latest.count >= minSamples { expected = within + .nanoseconds(1) }
          let delay = machine.runStarted()
          #expect(delay == expected, "seed \(seed)")
        case 1:
          let isGranted = machine.delayPassed()
          let limit = max(1, Int(share * Double(maxSamples) + 1e-9))
          let recent = hedges.count { runs - $0 < maxSamples }
          #expect(isGranted == (recent < limit), "seed \(seed)")
          if isGranted { hedges.append(runs) }
        default:
          durations.append(.milliseconds(Int.random(in: 0..<50, using: &random)))
          machine.runSucceeded(after: durations[durations.count - 1])
        }
      }
    }
  }

  @Test(
    "About one run in twenty has a second copy, even though second copies shorten the slow runs", arguments: [1, 10])
  func stability(slowness: Double) {
    var random = SeededGenerator(seed: 7)
    func time() -> Double {
      // With a slowness above 1, one run in ten is slow.
      let isSlow = Int.random(in: 0..<10, using: &random) == 0
      return Double.random(in: 1...2, using: &random) * (isSlow ? slowness : 1)
    }
    var machine = HedgingMachine(
      percentile: 95, initialDelay: .seconds(30), minSamples: 20, maxSamples: 200, maxShare: 0.5)
    var hedgeCount = 0
    let count = 20_000
    for _ in 0..<count {
      let (delay, first) = (machine.runStarted(), Duration.seconds(time()))
      guard first > delay, machine.delayPassed() else {
        machine.runSucceeded(after: first)
        continue
      }
      hedgeCount += 1
      machine.runSucceeded(after: min(first, delay + .seconds(time())))
    }
    let share = Double(hedgeCount) / Double(count)
    #expect(share > 0.04 && share < 0.065, "\(share)")
  }

  @Test("An invalid percentile, number of samples, or share traps")
  func mistakes() async {
    let percentile = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureTask("read") {}.hedged(afterPercentile: 0, initialDelay: .seconds(1))
    }
    let samples = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureTask("read") {}.hedged(afterPercentile: 95, initialDelay: .seconds(1), minSamples: 9, maxSamples: 8)
    }
    let none = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureTask("read") {}.hedged(afterPercentile: 95, initialDelay: .seconds(1), minSamples: 0)
    }
    let share = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureTask("read") {}.hedged(afterPercentile: 95, initialDelay: .seconds(1), maxShare: .nan)
    }
    let messages = [percentile, samples, none, share].map {
      String(decoding: $0?.standardErrorContent ?? [], as: UTF8.self)
    }
    #expect(messages[0].contains("\"read\": the hedge percentile must be above 0"))
    #expect(messages[0].contains("at most 100, got 0.0"))
    #expect(messages[1].contains("maxSamples must be at least minSamples (9), got 8"))
    #expect(messages[2].contains("minSamples must be at least 1, got 0"))
    #expect(messages[3].contains("maxShare must be above 0 and at most 1, got nan"))
  }
}
