import Dispatch
import TestSupport
import Testing

@testable import TestingProcedureKit

/// Explores unchanged code, which waits with `Task.sleep` and runs on the main actor.
@Suite(.enabled(if: ScheduleExplorer.controlsRealTime && ScheduleExplorer.controlsMainActor), .timeLimit(.atDepth))
struct RealTimeTests {
  private actor Worker {
    func work(for duration: Duration) async throws { try await Task.sleep(for: duration) }
  }

  @MainActor private final class Screen {
    private(set) var lines: [String] = []
    private var isBusy = false

    func show(_ line: String, _ notify: (() -> Void)? = nil) -> Bool {
      if isBusy { return false }
      isBusy = true
      notify?()
      lines.append(line)
      isBusy = false
      return true
    }

    func show(_ line: String, after duration: Duration) async throws {
      MainActor.assertIsolated()
      try await Task.sleep(for: duration)
      MainActor.assertIsolated()
      lines.append(line)
    }
  }

  @Test("Every kind of wait in real time becomes a wait in virtual time")
  func ways() async throws {
    let ways: [@Sendable () async throws -> Void] = [
      { try await Task.sleep(for: .seconds(3_600)) },
      { try await Task.sleep(nanoseconds: 3_600_000_000_000) },
      { try await ContinuousClock().sleep(for: .seconds(3_600)) },
      { try await SuspendingClock().sleep(until: .now + .seconds(3_600)) },
      { try await Worker().work(for: .seconds(3_600)) },
      { try await Task.detached { try await Task.sleep(for: .seconds(3_600)) }.value },
      { try await Task { try await Task.sleep(for: .seconds(3_600)) }.value },
      {
        async let child: Void = Task.sleep(for: .seconds(3_600))
        try await child
      },
      { try await Screen().show("", after: .seconds(3_600)) },
      { try await Task { @MainActor in try await Task.sleep(for: .seconds(3_600)) }.value },
    ]
    try await exploreSchedules(TestDepth.count(100)) { env in
      for (number, way) in ways.enumerated() {
        try await way()
        env.check(env.clock.now.offset == .seconds(3_600 * (number + 1)), "\(number): \(env.clock.now)")
      }
    }
  }

  @Test(
    "A sleep lasts as long as the code says, in every kind of task, even if other tasks use the processor in between")
  func exact() async throws {
    let isOver = Locked(false)
    for _ in 0..<2 { Platform.startThread { while !isOver.value {} } }
    defer { isOver { $0 = true } }
    let ways: [@Sendable () async throws -> Void] = [
      { try await Task.sleep(for: .milliseconds(7)) },
      { try await Task.sleep(nanoseconds: 7_000_000) },
      { try await Worker().work(for: .milliseconds(7)) },
      { try await Task { try await Worker().work(for: .milliseconds(7)) }.value },
      { try await Task { try await Task.sleep(for: .milliseconds(7)) }.value },
      { try await Screen().show("", after: .milliseconds(7)) },
      {
        async let child: Void = Worker().work(for: .milliseconds(7))
        async let other: Void = Worker().work(for: .milliseconds(7))
        _ = try await (child, other)
      },
    ]
    try await exploreSchedules(TestDepth.count(300)) { env in
      for (number, way) in ways.enumerated() {
        let start = env.clock.now
        try await way()
        let duration = start.duration(to: env.clock.now)
        env.check(duration == .milliseconds(7), "\(number): \(duration)")
      }
    }
  }

  @Test("The duration of a sleep is the only one in whole milliseconds that is possible, or is known to be uncertain")
  func virtualDuration() {
    func duration(_ remaining: Int, _ elapsed: Int) -> (Duration, Bool) {
      let (duration, isExact) = RealSleeps.virtualDuration(
        remaining: .microseconds(remaining), elapsed: .microseconds(elapsed))
      return (duration, isExact)
    }
    #expect(duration(6_990, 20) == (.milliseconds(7), true))
    #expect(duration(6_001, 1_998) == (.milliseconds(7), true))
    #expect(duration(6_990, 1_010) == (.milliseconds(7), false))
    #expect(duration(2_000, 4_000) == (.milliseconds(2), false))
    #expect(duration(-5, 20) == (.milliseconds(1), true))
  }

  @Test("If a wait follows a long step, the schedule is run again, and is complete once the duration is certain")
  func longStep() async throws {
    let runs = Locked(0)
    let summary = try await exploreSchedules(strategy: .exhaustive) { env in
      runs { $0 += 1 }
      let start = ProcessorTime.now
      while ProcessorTime.now - start < .milliseconds(2) {}
      try await Task.sleep(for: .milliseconds(7))
      env.check(env.clock.now.offset <= .milliseconds(7))
    }
    // On a busy machine, the system can interrupt the step each time.
    #expect(summary.isComplete == (summary.unclearSleeps == 0), "\(summary)")
    #expect(runs.value >= 2 && summary.schedules == 1, "\(runs.value) runs, \(summary)")
  }

  @Test("An exploration in which the duration of a wait remained uncertain is not complete")
  func unclear() {
    var summary = ExplorationSummary(seed: 0, strategy: .exhaustive)
    let outcome = ScheduleRun.Outcome(
      problems: [], record: ScheduleRecord(), notes: [], tallies: [:], hasUnclearSleep: true)
    summary.didRun(outcome, isNewOrder: true)
    #expect(summary.unclearSleeps == 1)
    #expect("\(summary)".contains("1 schedule with a wait of uncertain duration"), "\(summary)")
  }

  /// Loads a value only once: callers that arrive during the load wait for it.
  private actor Loader {
    private var loading: Task<Int, any Error>?
    private(set) var loads = 0
    private let isImmediate: Bool

    init(isImmediate: Bool) { self.isImmediate = isImmediate }

    func value() async throws -> Int {
      if let loading { return try await loading.value }
      let task = isImmediate ? Task.immediate { try await self.load() } : Task { try await self.load() }
      loading = task
      return try await task.value
    }

    private func load() async throws -> Int {
      loads += 1
      await Task.yield()
      try await Task.sleep(for: .milliseconds(7))
      await Task.yield()
      return loads
    }
  }

  @Test(
    "A task that an actor starts, also immediately, is controlled while it yields and sleeps", arguments: [false, true])
  func startedByActor(isImmediate: Bool) async throws {
    let summary = try await exploreSchedules(TestDepth.count(300, least: 60)) { env in
      let loader = Loader(isImmediate: isImmediate)
      async let first = loader.value()
      async let second = loader.value()
      env.check(try await first == 1)
      env.check(try await second == 1)
      env.check(await loader.loads == 1)
      env.check(env.clock.now.offset == .milliseconds(7))
    }
    #expect(summary.distinctTraces > 5 && summary.unorderedVisits == 0, "\(summary)")
  }

  @Test(
    "A task that starts immediately outside any actor needs the executor of the schedule, and is reported otherwise")
  func immediate() async throws {
    let body: @Sendable (ExplorationEnvironment, Bool) async throws -> Void = { env, isControlled in
      let worker = Worker()
      let tasks = (0..<2).map { _ in
        Task.immediate(executorPreference: isControlled ? env.executor : nil) {
          await Task.yield()
          try await worker.work(for: .milliseconds(7))
          try await Task.sleep(for: .milliseconds(7))
        }
      }
      for task in tasks { try await task.value }
      if isControlled { env.check(env.clock.now.offset == .milliseconds(14)) }
    }
    let summary = try await exploreSchedules(TestDepth.count(300, least: 60)) { env in try await body(env, true) }
    #expect(summary.distinctTraces > 5 && summary.unorderedVisits == 0, "\(summary)")
    var explorer = ScheduleExplorer(schedules: 1_000)
    explorer.patience = .seconds(3_600)
    let failure = try await requireError(ExplorationFailure.self) {
      try await explorer.explore { env in try await body(env, false) }
    }
    #expect("\(failure.problems)".contains("or a `Task.immediate` outside any actor"), "\(failure)")
  }

  @Test("Sleeps that end at one instant have as many orders as on the schedule's clock")
  func sleepersAtOneInstant() async throws {
    let counts = try await [false, true].asyncMap { isReal in
      try await exploreSchedules(10_000, strategy: .exhaustive) { env in
        await withTaskGroup(of: Void.self) { group in
          for _ in 0..<3 {
            group.addTask {
              if isReal {
                try? await Task.sleep(for: .milliseconds(7))
              } else {
                try? await env.clock.sleep(for: .milliseconds(7))
              }
            }
          }
        }
      }
    }
    #expect(counts.allSatisfy(\.isComplete) && counts[0].schedules == counts[1].schedules, "\(counts)")
  }

  @Test(
    "Sleeps end in the order of their deadlines, together with sleeps on the schedule's clock, and equal ones in every order"
  )
  func order() async throws {
    try await exploreRace("abc", "bac", schedules: 300) { env in
      let order = Locked("")
      await withTaskGroup(of: Void.self) { group in
        for (name, seconds) in [("b", 10), ("c", 20)] {
          group.addTask {
            try? await Task.sleep(for: .seconds(seconds))
            order { $0 += name }
          }
        }
        group.addTask {
          try? await env.clock.sleep(for: .seconds(10))
          order { $0 += "a" }
        }
      }
      env.check(order.value.hasSuffix("c"))
      env.tally(order.value)
    }
  }

  @Test("A cancelled sleep ends immediately, and its remaining timer is harmless")
  func cancelling() async throws {
    let summary = try await exploreSchedules(TestDepth.count(300, least: 60)) { env in
      let sleeper = Task(executorPreference: env.executor) { try await Task.sleep(for: .seconds(86_400)) }
      async let cancel: Void = sleeper.cancel()
      env.check(await sleeper.result.isCancelled)
      env.check(env.clock.now.offset == .zero)
      await cancel
    }
    #expect(summary.distinctTraces > 1)
  }

  @Test("A task that polls in real time forever is abandoned, and delays nothing")
  func forgotten() async throws {
    try await exploreSchedules(20) { env in
      // The task is never cancelled: the exploration abandons it.
      Task(executorPreference: env.executor) { while true { try await Task.sleep(for: .seconds(1)) } }
      try await Task.sleep(for: .seconds(5))
      env.check(env.clock.now.offset == .seconds(5))
    }
  }

  @Test("The main actor runs one job at a time, even if a job is preempted in the middle")
  func mainActor() async throws {
    try await exploreRace("ab", "ba", schedules: 300) { env in
      let screen = Screen()
      let (events, notify) = AsyncStream.makeStream(of: Void.self)
      async let first = screen.show("a") { notify.yield() }
      async let second = {
        for await _ in events { break }
        return await screen.show("b")
      }()
      async let third = screen.show("c")
      let all = await [first, second, third]
      env.check(all.allSatisfy(\.self), "one at a time: \(all)")
      env.check(await screen.lines.count == 3)
      env.tally(await screen.lines.first == "a" ? "ab" : "ba")
    }
  }

  @Test("Code outside the exploration stays on the main queue, and code inside does not use it")
  func elsewhere() async throws {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    async let outside: Void = { @concurrent in
      for _ in 0..<100 {
        await MainActor.run { #expect(DispatchQueue.getSpecific(key: key) == true) }
        try? await Task.sleep(for: .microseconds(10))
      }
    }()
    try await exploreSchedules(100) { env in
      env.check(await MainActor.run { DispatchQueue.getSpecific(key: key) } == nil)
      try await Task.sleep(for: .seconds(100))
    }
    await outside
  }

  @Test("A schedule with waits in real time fails again in the same order")
  func replay() async throws {
    let body: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
      let order = Locked("")
      await withTaskGroup(of: Void.self) { group in
        for name in ["a", "b", "c"] {
          group.addTask {
            try? await Task.sleep(for: .milliseconds(100))
            order { $0 += name }
          }
        }
      }
      env.check(order.value != "bca")
    }
    let failure = try await requireError(ExplorationFailure.self) { try await exploreSchedules(1_000, body) }
    #expect(failure.failsAgain == true)
    let names = failure.trace?.names ?? [:]
    #expect(names.values.contains { $0.hasPrefix("timer of ") }, "\(names)")
    let again = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(strategy: .replay(failure.replay), body)
    }
    #expect(again.order == failure.order)
  }

  @Test("Dispatch work that resumes a task is reported")
  func dispatch() async throws {
    var explorer = ScheduleExplorer(schedules: 1)
    explorer.patience = .seconds(3_600)
    let failure = try await requireError(ExplorationFailure.self) {
      try await explorer.explore { env in
        let waiter = Locked<CheckedContinuation<Void, Never>?>(nil)
        async let work: Void = withCheckedContinuation { continuation in waiter { $0 = continuation } }
        // Virtual time passes only when no job is ready, so the other task is waiting afterwards.
        try await env.clock.sleep(for: .seconds(1))
        let waiting = waiter.value
        DispatchQueue.global().async { waiting?.resume() }
        await work
      }
    }
    #expect("\(failure.problems)".contains("another thread made a task ready"), "\(failure)")
  }
}

extension Result {
  fileprivate var isCancelled: Bool {
    if case .failure(let error) = self { error is CancellationError } else { false }
  }
}

extension Array {
  fileprivate func asyncMap<T>(_ transform: (Element) async throws -> T) async rethrows -> [T] {
    var results: [T] = []
    for element in self { results.append(try await transform(element)) }
    return results
  }
}
