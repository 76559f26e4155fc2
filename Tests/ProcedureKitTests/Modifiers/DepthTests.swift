import Foundation
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Tests hundreds or thousands of modifiers around one procedure: the time of a run must not grow with the square of their number.
@Suite(.timeLimit(.atDepth)) struct DepthTests {
  typealias Task = ProcedureTask<Int, Int>

  struct Nest: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let wrap: @Sendable (Task) -> Task
    /// Whether each layer claims a resource. A claim lists the claims around it, so n nested claims take O(n²).
    let claims: Bool

    init(_ name: String, claims: Bool = false, _ wrap: @escaping @Sendable (Task) -> Task) {
      (testDescription, self.claims, self.wrap) = (name, claims, wrap)
    }

    func nested(_ count: Int, around task: Task) -> Task {
      var task = task
      for _ in 0..<count { task = wrap(task) }
      return task
    }
  }

  static let nests = [
    Nest("map") { $0.map { $0 + 1 } },
    Nest("then") { $0.then(Task("next") { $0 + 1 }) },
    Nest("then, inside") { task in Task("first") { $0 }.then(task).map { $0 + 1 } },
    Nest("retry") { $0.retry(.constant(.seconds(1)), maxAttempts: 2).map { $0 + 1 } },
    Nest("repeating") { $0.repeating(.immediate, maxCount: 1).map { $0 + 1 } },
    Nest("recover") { $0.map { $0 + 1 }.recover { throw $0 } },
    Nest("condition") { $0.condition("yes") { true }.map { $0 + 1 } },
    Nest("fallback") { $0.map { $0 + 1 }.fallback(to: Task { _ in throw TestError(code: 1) }) },
    Nest("timeout") { $0.timeout(.seconds(1_000_000)).map { $0 + 1 } },
    Nest("hooks") { $0.onWillExecute { _ in }.onDidFinish { _ in }.map { $0 + 1 } },
    Nest("optional") { $0.map { $0 + 1 }.replacingErrorsWithNil().map { try $0 ?? { throw TestError(code: 1) }() } },
    Nest("result") { $0.map { $0 + 1 }.catchingErrors().map { try $0.get() } },
    Nest("exclusive", claims: true) { $0.exclusive("DepthTests").map { $0 + 1 } },
    Nest("shared", claims: true) { $0.shared("DepthTests").map { $0 + 1 } },
    Nest("units", claims: true) { $0.uses(Resource("DepthTests", capacity: 3)).map { $0 + 1 } },
    Nest("delay") { $0.delay(.zero).map { $0 + 1 } },
    Nest("deadline") { $0.deadline(.now.advanced(by: .seconds(1_000_000))).map { $0 + 1 } },
    Nest("breaker") { $0.circuitBreaker(CircuitBreaker()).map { $0 + 1 } },
    Nest("limiter") { $0.rateLimited(RateLimiter(1, per: .seconds(1))).map { $0 + 1 } },
    Nest("interceptor") { $0.intercepted { _, next in try await next() }.map { $0 + 1 } },
    Nest("reusing") { $0.reusing("none") { _ in nil }.map { $0 + 1 } },
    Nest("key") { $0.keyed(by: "key").priority(.high).named("deep").map { $0 + 1 } },
    Nest("coalesced") { $0.coalesced(by: "DepthTests", in: CoalescingScope()).map { $0 + 1 } },
    Nest("hedged") { $0.hedged(after: .seconds(1_000_000)).map { $0 + 1 } },
    Nest("configured") { $0.map { $0 + 1 }.configured { _, procedure in procedure } },
  ]

  /// At most 10,000, because the value of a procedure is released layer by layer, on the stack.
  private static let depth = TestDepth.isAtLeastGate ? min(TestDepth.count(10_000), 10_000) : 160

  @Test("A value passes through many layers, and so does a failure", arguments: nests)
  func values(_ nest: Nest) async throws {
    let queue = ProcedureQueue("q")
    #expect(try await queue.add(nest.nested(Self.depth, around: Task("body") { $0 }), input: 0).value == Self.depth)
    guard nest.testDescription != "retry" else { return }
    let failing = nest.nested(Self.depth, around: Task("body") { _ in throw TestError(code: 7) })
    await #expect(throws: (any Error).self) { try await queue.run(failing, input: 0) }
  }

  @Test(
    "Many layers are cancelled by one cancellation, in the queue's task and in the caller's", arguments: nests)
  func cancellation(_ nest: Nest) async throws {
    let queue = ProcedureQueue("q")
    let started = Signal()
    let waiting = nest.nested(
      Self.depth,
      around: Task("body") { value in
        started.set()
        try await Swift.Task.sleep(for: .seconds(1_000_000))
        return value
      })
    let handle = queue.add(waiting, input: 0)
    await started.wait()
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    let caller = Swift.Task { try await queue.run(waiting, input: 0) }  // cancelled and awaited below
    await started.wait()
    caller.cancel()
    await #expect(throws: CancellationError.self) { try await caller.value }
  }

  @Test(
    "Four times as many layers take four times the work, and not sixteen times", arguments: nests.filter { !$0.claims })
  func cost(_ nest: Nest) async throws {
    for fails in [false, true] where !(fails && nest.testDescription == "retry") {
      let body = Task("body") { value in
        if fails { throw TestError(code: 7) }
        return value
      }
      // Other processes disturb single rounds, for example by filling the caches, so the smallest costs are compared. A longer round would
      // be disturbed more often, so the smaller nest is run four times. Linear work then costs the same, and quadratic work four times as
      // much. Each run has a nest of its own, because the runs of one nest share its limiters and breakers.
      var costs = [Duration.seconds(1_000_000), .seconds(1_000_000)]
      for round in 1...10 where round <= (TestDepth.isAtLeastGate ? 3 : 1) || costs[1] >= costs[0] * 2 {
        for (index, runs) in [4, 1].enumerated() {
          var cost = Duration.zero
          for _ in 0..<runs {
            cost += try await MeasuringExecutor.measure(nest.nested(Self.depth / runs, around: body))
          }
          costs[index] = min(costs[index], cost)
        }
      }
      #expect(costs[1] < costs[0] * 2, "\(fails ? "failing" : "finishing"): \(costs)")
    }
  }

  struct Combination: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let combine: @Sendable (Condition) -> Condition
  }

  static let combinations = [
    Combination(testDescription: "&&") { $0 && Condition("b") { true } },
    Combination(testDescription: "&&, inside") { Condition("b") { true } && $0 },
    Combination(testDescription: "||") { $0 || Condition("b") { false } },
    Combination(testDescription: "||, inside") { Condition("b") { false } || $0 },
    Combination(testDescription: "!!") { !(!$0) },
    Combination(testDescription: "silent") { $0.silenced() },
    Combination(testDescription: "ignored") { $0.treatingErrorsAsUnsatisfied() },
  ]

  @Test(
    "Many nested conditions decide without overflowing the stack, and have a name of bounded length",
    arguments: combinations)
  func conditions(_ combination: Combination) async throws {
    for isSatisfied in [true, false] {
      var condition = Condition("a") { isSatisfied }
      for _ in 0..<Self.depth { condition = combination.combine(condition) }
      #expect(condition.name.count <= 1_000)
      let outcome = await ProcedureQueue("q").add(ProcedureTask("body") {}.condition(condition)).outcome
      #expect(outcome.isFinished == isSatisfied)
    }
  }

  @Test("Many conditions on one layer are evaluated")
  func adjacentConditions() async throws {
    var task = ProcedureTask("body") { 1 }
    for number in 0..<Self.depth { task = task.condition("\(number)") { true } }
    #expect(try await ProcedureQueue("q").add(task).value == 1)
  }
}

/// Executes the jobs of a queue, one after another, and measures the processor time.
///
/// The time of a clock would depend on the other tests that are running.
private final class MeasuringExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "DepthTests")
  private let total = Mutex(Duration.zero)

  func enqueue(_ job: UnownedJob) {
    queue.async { [self] in
      let start = ProcessorTime.now
      job.runSynchronously(on: asUnownedTaskExecutor())
      let end = ProcessorTime.now
      total.withLock { $0 += end - start }
    }
  }

  /// Returns the time that a run of the task takes.
  static func measure(_ task: ProcedureTask<Int, Int>) async throws -> Duration {
    let executor = MeasuringExecutor()
    var configuration = ProcedureQueue.Configuration("measured")
    configuration.executor = executor
    let queue = ProcedureQueue(configuration)
    _ = await queue.add(task, input: 0).outcome
    await queue.waitUntilIdle()
    // The jobs have ended when the next job in line is reached.
    await withCheckedContinuation { executor.queue.async(execute: $0.resume) }
    return executor.total.withLock { $0 }
  }
}
