import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Tests the laws of all schedules with random ones.
@Suite struct ScheduleLawTests {
  /// Tests a law with random seeds, and reports the seed that violates it.
  private func holds(_ law: (inout SeededGenerator) -> Bool) {
    for seed in 0..<UInt64(TestDepth.count(500)) {
      var random = SeededGenerator(seed: seed)
      if !law(&random) { Issue.record("seed \(seed)") }
    }
  }

  private func delays(_ schedule: Schedule) -> [Duration] {
    Array(schedule.delays(using: SeededGenerator(seed: 42)).prefix(40))
  }

  @Test("`and`, `or` and `then` are associative, even with random delays")
  func associative() {
    holds { random in
      let (a, b, c) = (Schedule(random: &random), Schedule(random: &random), Schedule(random: &random))
      return delays(a.and(b).and(c)) == delays(a.and(b.and(c)))
        && delays(a.or(b).or(c)) == delays(a.or(b.or(c)))
        && delays(a.then(b).then(c)) == delays(a.then(b.then(c)))
    }
  }

  @Test("`and` and `or` are commutative on delays, and combining a schedule with itself changes nothing")
  func commutative() {
    holds { random in
      let (a, b) = (Schedule(fixed: &random), Schedule(fixed: &random))
      return delays(a.and(b)) == delays(b.and(a)) && delays(a.or(b)) == delays(b.or(a))
        && delays(a.and(a)) == delays(a) && delays(a.or(a)) == delays(a)
    }
  }

  @Test("`and` ends with the shorter schedule, `or` with the longer")
  func lengths() {
    holds { random in
      let (a, b) = (Schedule(random: &random), Schedule(random: &random))
      let (first, second) = (delays(a).count, delays(b).count)
      return delays(a.and(b)).count == min(first, second) && delays(a.or(b)).count == max(first, second)
    }
  }

  @Test("Jitter stays within its range, and the same generator gives the same delays")
  func jitter() {
    holds { random in
      let (schedule, fraction) = (Schedule(fixed: &random), Double(random.below(101)) / 100)
      let plain = delays(schedule)
      let full = delays(schedule.jittered())
      let partly = delays(schedule.jittered(fraction))
      let isWithin = zip(plain, full).allSatisfy { $1 <= $0 }
      let isNear = zip(plain, partly).allSatisfy { plain, partly in
        abs((partly - plain).attoseconds) <= plain.scaled(by: fraction).attoseconds
      }
      return isWithin && isNear && full.count == plain.count && full == delays(schedule.jittered())
    }
  }

  @Test("A prefix, a cap and a total are limits that change nothing until they are reached")
  func bounds() {
    holds { random in
      let (schedule, count) = (Schedule(random: &random), random.below(20))
      let limit = Duration.seconds(random.below(50))
      let all = delays(schedule)
      let upTo = delays(schedule.upTo(limit))
      return delays(schedule.prefix(count)) == Array(all.prefix(count))
        && delays(schedule.capped(at: limit)) == all.map { min($0, limit) }
        && Array(all.prefix(upTo.count)) == upTo && upTo.reduce(.zero, +) <= limit
        && (upTo.count == all.count || all.prefix(upTo.count + 1).reduce(.zero, +) > limit)
    }
  }
}

extension Schedule {
  /// Returns a schedule that draws no random numbers.
  fileprivate init(fixed random: inout SeededGenerator, depth: Int = 3) {
    let (one, other) = (Duration.seconds(random.below(10)), Duration.seconds(random.below(10) - 2))
    switch random.below(depth > 0 ? 12 : 5) {
    case 0: self = .constant(one)
    case 1: self = .linear(from: one, by: other)
    case 2: self = .exponential(from: one, factor: Double(random.below(40)) / 10)
    case 3: self = .fibonacci(one)
    case 4: self = [one, other, one]
    case 5: self = Schedule(fixed: &random, depth: depth - 1).and(Schedule(fixed: &random, depth: depth - 1))
    case 6: self = Schedule(fixed: &random, depth: depth - 1).or(Schedule(fixed: &random, depth: depth - 1))
    case 7: self = Schedule(fixed: &random, depth: depth - 1).then(Schedule(fixed: &random, depth: depth - 1))
    case 8: self = Schedule(fixed: &random, depth: depth - 1).capped(at: other)
    case 9: self = Schedule(fixed: &random, depth: depth - 1).upTo(one * 5)
    default: self = Schedule(fixed: &random, depth: depth - 1).prefix(random.below(15))
    }
  }

  /// Returns a schedule that may draw random numbers.
  fileprivate init(random: inout SeededGenerator) {
    let fixed = Schedule(fixed: &random)
    switch random.below(4) {
    case 0: self = fixed.jittered()
    case 1: self = fixed.then(.random(in: .zero ... .seconds(9)).prefix(random.below(9)))
    case 2: self = Schedule(fixed: &random).jittered(0.5).and(fixed)
    default: self = fixed
    }
  }
}
