import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The code of the guide *Retrying, repeating and giving up*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct GivingUpGuide {
  struct Busy: Error {
    var delay: Duration
  }

  struct NotFound: Error {}

  enum Status {
    case pending, ready
  }

  private let archive = ProcedureTask("archive") { (number: Int) in "page \(number), of old" }

  /// Fails with the errors one after another, and then succeeds.
  private func download(failing errors: [any Error] = []) -> ProcedureTask<Int, String> {
    let attempts = Box(0)
    return ProcedureTask("download") { number in
      let attempt = attempts.update {
        $0 += 1
        return $0
      }
      if attempt <= errors.count { throw errors[attempt - 1] }
      return "page \(number)"
    }
  }

  /// Ready when it is asked for the third time.
  private var status: ProcedureTask<Void, Status> {
    let count = Box(0)
    return ProcedureTask("status") {
      count.update {
        $0 += 1
        return $0
      } < 3 ? .pending : .ready
    }
  }

  @Test("A procedure is retried with a schedule of delays")
  func retrying() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let download = download(failing: [Busy(delay: .zero), NotFound()])
      let patient = download.timeout(.seconds(5))
        .retry(.exponential(from: .milliseconds(100)).capped(at: .seconds(10)).jittered(), maxAttempts: 5)
        .timeout(.seconds(30))
      let page = try await queue.run(patient, input: 7)
      env.check(page == "page 7")
      await queue.shutDown()
    }
  }

  @Test("A function decides whether and how a procedure is retried")
  func choosing() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let archive = archive
      let download = download(failing: [Busy(delay: .seconds(7)), NotFound(), TestError()])
      let choosy = download.retry(.fibonacci(.seconds(1)), maxAttempts: 4) { error, attempt in
        switch error {
        case let busy as Busy: .retryAfter(busy.delay)  // as requested by the server
        case is NotFound: .replace(by: archive)  // from now on
        default: attempt < 3 ? .retry : .stop
        }
      }
      env.check(try await queue.run(choosy, input: 7) == "page 7, of old")
      env.check(env.clock.now.offset == .seconds(8))
      await queue.shutDown()
    }
  }

  @Test("Procedures share a budget for retries")
  func budget() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let download = download(failing: Array(repeating: NotFound(), count: 6))
      let budget = RetryBudget(capacity: 5, oneMoreEvery: .seconds(10))  // created once
      let careful = download.retry(.constant(.seconds(1)), maxAttempts: 3, budget: budget)
      var failures = 0
      for number in 1...2 where await queue.add(careful, input: number).outcome.isFailed { failures += 1 }
      env.check(failures == 2 && budget.retriesLeft == 1, "\(failures), \(budget.retriesLeft)")
      let page = try await queue.run(careful, input: 7)
      env.check(page == "page 7" && budget.retriesLeft == 1)
      await queue.shutDown()
    }
  }

  @Test("A procedure is repeated")
  func repeating() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let status = status
      let report = ProcedureTask("report") {}
      // One second after each execution.
      let ready = status.repeating(.constant(.seconds(1)), maxCount: 60) { $0 != .ready }
      let beat = report.repeating(every: .seconds(10), maxCount: 3)  // missed beats are skipped
      env.check(try await queue.run(ready) == .ready)
      env.check(env.clock.now.offset == .seconds(2))
      try await queue.run(beat)
      env.check(env.clock.now.offset == .seconds(22))
      await queue.shutDown()
    }
  }

  @Test("A caller iterates over the values of a repetition")
  func iterating() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let status = status
      var states: [Status] = []
      for try await state in queue.repeating(status, .constant(.seconds(1))) {
        states.append(state)
        if state == .ready { break }
      }
      env.check(states == [.pending, .pending, .ready] && env.clock.now.offset == .seconds(2))
      await queue.shutDown()
    }
  }

  private actor Folder {
    private(set) var isRemoved = false

    func fill() async throws { throw NotFound() }
    func talk() async throws -> Int { 1 }

    func remove() async throws {
      try Task.checkCancellation()
      isRemoved = true
    }

    func close() async throws { try await remove() }
  }

  @Test("A cleanup follows the body, and a shield hides a cancellation")
  func cleaningUp() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let (folder, connection) = (Folder(), Folder())
      let copy = ProcedureTask("copy") { try await folder.fill() }
        .cleanup { try await folder.remove() }  // after a success, a failure or a cancellation
      env.check(await queue.add(copy).outcome.error is NotFound)
      env.check(await folder.isRemoved)
      let session = ProcedureTask("session") {
        let result = try await connection.talk()
        try await ProcedureContext.current?.shielded(atMost: .seconds(5)) { try await connection.close() }
        return result
      }
      let cancelled = ProcedureTask("cancelled") {
        ProcedureContext.current?.cancel()
        return try await session()
      }
      env.check(await queue.add(cancelled).outcome.isCancelled)
      env.check(await connection.isRemoved)
      await queue.shutDown()
    }
  }

  @Test("The first of several procedures provides the value")
  func first() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let mirrors = (1...3).map { number in
        ProcedureTask("mirror \(number)") { (page: Int) in
          try await env.clock.sleep(for: .seconds(10 - number))
          if number == 3 { throw NotFound() }
          return "page \(page) of mirror \(number)"
        }
      }
      let fastest = try await queue.first(of: mirrors, input: 7)
      let votes = try await queue.first(2, of: mirrors, input: 7)  // the first two values
      env.check(fastest == "page 7 of mirror 2")
      env.check(votes == ["page 7 of mirror 2", "page 7 of mirror 1"])
      await queue.shutDown()
    }
  }

  @Test("A procedure gives up after a timeout, and is guarded by a breaker and a limiter")
  func givingUp() async throws {
    try await exploreSchedules(10) { env in
      let (queue, clock, archive) = (env.makeQueue(), env.clock, archive)
      let download = ProcedureTask("download") { (number: Int) in
        try await clock.sleep(for: .seconds(10))
        return "page \(number)"
      }
      let quick = download.timeout(.seconds(2)).fallback(to: archive)
      let punctual = download.deadline(clock.now.advanced(by: .seconds(20)), on: clock)
      let later = download.delay(.seconds(1))
      let breaker = CircuitBreaker("server", failureRatio: 0.5, minimumCalls: 10, cooldown: .seconds(10), clock: clock)
      let limiter = RateLimiter(10, per: .seconds(1), clock: clock)
      let guarded = download.timeout(.seconds(2))
        .rateLimited(limiter)  // waits for its turn without holding a slot or resources
        .circuitBreaker(breaker)  // refuses further calls immediately while most calls fail
        .hedged(after: .milliseconds(300))  // a second copy, if the first is slow
        .fallback(to: archive)
      env.check(try await queue.run(quick, input: 7) == "page 7, of old")
      env.check(try await queue.run(punctual, input: 7) == "page 7")
      env.check(await queue.add(punctual, input: 7).outcome.isFailed)
      env.check(try await queue.run(guarded, input: 7) == "page 7, of old")
      env.check(try await queue.run(later, input: 7) == "page 7")
      await queue.shutDown()
    }
  }
}
