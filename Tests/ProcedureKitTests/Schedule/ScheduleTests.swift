import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite struct ScheduleTests {
  private func seconds(_ schedule: Schedule, _ count: Int) -> [Double] {
    schedule.delays(using: SeededGenerator(seed: 1)).prefix(count).map { $0 / .seconds(1) }
  }

  @Test("The schedules give the numbers of the original's wait strategies")
  func originalNumbers() {
    #expect(seconds(.immediate, 3) == [0, 0, 0])
    #expect(seconds(.constant(.seconds(1)), 3) == [1, 1, 1])
    #expect(seconds(.linear(from: .zero, by: .seconds(3)), 4) == [0, 3, 6, 9])
    #expect(seconds(.fibonacci(.seconds(1)).capped(at: .seconds(30)), 10) == [0, 1, 1, 2, 3, 5, 8, 13, 21, 30])
    #expect(seconds(.exponential(from: .seconds(1)).capped(at: .seconds(20)), 6) == [1, 2, 4, 8, 16, 20])
  }

  @Test("100,000 random delays are within their range, and reach all parts of it")
  func random() {
    let range = Duration.seconds(1)...Duration.seconds(2)
    var tenths = [Int](repeating: 0, count: 10)
    for delay in Schedule.random(in: range).delays(using: SeededGenerator(seed: 7)).prefix(100_000) {
      if !range.contains(delay) { Issue.record("\(delay)") }
      tenths[min(Int((delay - range.lowerBound) / .milliseconds(100)), 9)] += 1
    }
    #expect(tenths.allSatisfy { (9_500...10_500).contains($0) }, "\(tenths)")
  }

  @Test("Linear delays can decrease to zero, exponential ones accept any factor, and fractions are kept")
  func shapes() {
    #expect(seconds(.linear(from: .seconds(5), by: .seconds(-2)), 5) == [5, 3, 1, 0, 0])
    #expect(seconds(.exponential(from: .seconds(8), factor: 0.5), 4) == [8, 4, 2, 1])
    #expect(seconds(.exponential(from: .milliseconds(100), factor: 3), 3) == [0.1, 0.3, 0.9])
    #expect(seconds(.exponential(from: .seconds(8), factor: 0), 3) == [8, 0, 0])
  }

  @Test("A schedule can be made from an array, from a function of the index, or from a function with a state")
  func general() {
    #expect(seconds([.seconds(1), .seconds(5)], 9) == [1, 5])
    #expect(seconds(Schedule((1...3).reversed().map(Duration.seconds)), 9) == [3, 2, 1])
    #expect(seconds(Schedule { $0 < 3 ? .seconds($0 * $0) : nil }, 9) == [0, 1, 4])
    let halving = Schedule(from: Duration.seconds(4)) { delay, _ in
      delay = delay / 2
      return delay
    }
    #expect(seconds(halving, 3) == [2, 1, 0.5])
    #expect(seconds([], 9) == [])
  }

  @Test("Combinators have the specified delays")
  func combinators() {
    let linear = Schedule.linear(from: .seconds(1), by: .seconds(1))
    let three: Schedule = [.seconds(2), .seconds(2), .seconds(2)]
    #expect(seconds(linear.and(three), 9) == [2, 2, 3])
    #expect(seconds(linear.or(three), 5) == [1, 2, 2, 4, 5])
    #expect(seconds(three.then(linear), 5) == [2, 2, 2, 1, 2])
    #expect(seconds(linear.prefix(2), 9) == [1, 2])
    #expect(seconds(linear.prefix(-1), 9) == [])
    #expect(seconds(linear.upTo(.seconds(6)), 9) == [1, 2, 3])
    #expect(seconds(linear.upTo(.seconds(5)), 9) == [1, 2])
    #expect(seconds(linear.upTo(.seconds(-1)), 9) == [])
  }

  @Test("Using a schedule does not change it")
  func isValue() {
    let schedule = Schedule.exponential(from: .seconds(1)).jittered().then(.fibonacci(.seconds(1)))
    let delays = schedule.delays(using: SeededGenerator(seed: 3))
    #expect(Array(delays.prefix(50)) == Array(delays.prefix(50)))
    #expect(seconds(schedule, 50) == seconds(schedule, 50))
  }

  @Test("A function is not called again after it has ended the schedule")
  func endIsFinal() {
    let calls = Box(0)
    let schedule = Schedule { index in
      calls.update { $0 += 1 }
      return index < 2 ? .seconds(1) : nil
    }
    #expect(seconds(schedule.or(.constant(.seconds(2))).prefix(10), 99) == [1, 1] + Array(repeating: 2, count: 8))
    #expect(calls.value == 3)
  }

  @Test("Delays saturate, however they are computed")
  func saturation() {
    let huge = Duration(attoseconds: .max)
    let tiny = Duration(attoseconds: .min)
    let odd: [Duration] = [huge, tiny, .zero, .seconds(1), .seconds(-1), .longest, Duration(attoseconds: 1)]
    let factors = [
      Double.nan, .infinity, -.infinity, -2, 0, 1e300, .greatestFiniteMagnitude, Double.leastNonzeroMagnitude, 2,
    ]
    var schedules: [Schedule] = []
    for one in odd {
      schedules += [.constant(one), .fibonacci(one)]
      schedules += factors.map { .exponential(from: one, factor: $0) }
      for other in odd {
        schedules += [.linear(from: one, by: other), .random(in: min(one, other)...max(one, other))]
      }
    }
    let count = TestDepth.isAtLeastGate ? 200 : 70
    for schedule in schedules {
      for combined in [schedule, schedule.jittered(), schedule.upTo(huge)] + factors.map({ schedule.jittered($0) }) {
        for delay in combined.delays(using: SeededGenerator(seed: 1)).prefix(count) where delay != delay.saturated {
          Issue.record("\(delay)")
        }
      }
    }
    #expect(seconds(.exponential(from: .seconds(3), factor: .nan), 3) == [3, 3, 3])
    #expect(seconds(.exponential(from: .zero, factor: .infinity), 3) == [0, 0, 0])
    #expect(Schedule.exponential(from: .seconds(1)).delays().dropFirst(1_000).first { _ in true } == .longest)
    #expect(Schedule.fibonacci(.seconds(1)).delays().dropFirst(1_000).first { _ in true } == .longest)
  }

  // MARK: Size

  private func nested(_ count: Int, _ apply: (Schedule) -> Schedule) -> Schedule {
    var schedule = Schedule.constant(.seconds(1)).prefix(9)
    for _ in 0..<count { schedule = apply(schedule) }
    return schedule
  }

  @Test(
    "20,000 combinators do not overflow the stack, and give the same delays as a few of them",
    arguments: Combinator.all)
  private func manyCombinators(_ combinator: Combinator) {
    let (name, apply) = (combinator.testDescription, combinator.apply)
    let schedule = nested(TestDepth.size(20_000), apply)
    let delays = seconds(schedule, 3)
    #expect(delays.count == 3, "\(name)")
    if !["jittered", "nearby"].contains(name) { #expect(delays == [1, 1, 1], "\(name)") }
    if name == "then" || name == "then, inside" { #expect(seconds(nested(20, apply), 40).count >= 29) }
  }

  @Test(
    "A combinator takes the same time, regardless of how many precede it",
    .enabled(if: TestDepth.isAtLeastGate), arguments: Combinator.all)
  private func costOfCombinators(_ combinator: Combinator) {
    let apply = combinator.apply
    let costs = [2_000, 20_000].map { count in
      (0..<5).map { _ in ProcessorTime.measure { _ = nested(count, apply) } / count }.min() ?? .zero
    }
    #expect(costs[1] < costs[0] * 5, "\(costs)")
  }

  @Test("An endless schedule without delays is recognized before its first delay")
  func facts() {
    let zero = Schedule.immediate
    let endless: [Schedule] = [
      zero, .constant(.seconds(-1)), .linear(from: .zero, by: .seconds(-1)), .exponential(from: .zero),
      .fibonacci(.zero),
      .random(in: .zero ... .zero), zero.jittered(), zero.jittered(0.5), zero.capped(at: .seconds(1)),
      Schedule.constant(.seconds(1)).capped(at: .zero), zero.upTo(.seconds(1)), zero.and(zero),
      zero.or(.constant(.seconds(1))),
      zero.then([.seconds(1)]), zero.prefix(3).then(zero),
    ]
    for schedule in endless { #expect(schedule.isEndlessWithoutDelay && seconds(schedule, 50).allSatisfy { $0 == 0 }) }
    let others: [Schedule] = [
      .constant(.seconds(1)), [.zero], [], zero.prefix(3), zero.upTo(.seconds(-1)), zero.and([.zero]),
      zero.and(.constant(.seconds(1))), zero.prefix(3).then(.constant(.seconds(1))), zero.prefix(2).or(zero.prefix(3)),
      .linear(from: .zero, by: .seconds(1)), .exponential(from: .seconds(1), factor: 0),
    ]
    for schedule in others { #expect(!schedule.isEndlessWithoutDelay) }
  }
}

/// Returns a combination of a schedule and the schedule so far, in either order.
private struct Combinator: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let apply: @Sendable (Schedule) -> Schedule

  init(_ name: String, _ apply: @escaping @Sendable (Schedule) -> Schedule) {
    (testDescription, self.apply) = (name, apply)
  }

  static let all = [
    Combinator("capped") { $0.capped(at: .seconds(9)) }, Combinator("jittered") { $0.jittered() },
    Combinator("nearby") { $0.jittered(0.1) }, Combinator("prefix") { $0.prefix(9) },
    Combinator("upTo") { $0.upTo(.seconds(99)) }, Combinator("and") { $0.and(.constant(.seconds(1))) },
    Combinator("and, inside") { Schedule.constant(.seconds(1)).and($0) },
    Combinator("or") { $0.or(.constant(.seconds(1))) },
    Combinator("or, inside") { Schedule.constant(.seconds(1)).or($0) },
    Combinator("then") { $0.then(.constant(.seconds(1))) },
    Combinator("then, inside") { Schedule.constant(.seconds(1)).prefix(1).then($0) },
  ]
}
