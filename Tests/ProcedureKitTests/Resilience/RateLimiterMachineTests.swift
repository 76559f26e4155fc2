import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite struct RateLimiterMachineTests {
  private func machine(burst: Int, every seconds: Int, longestWait: Duration? = nil) -> RateLimiterMachine {
    RateLimiterMachine(bucket: TokenBucket(capacity: burst, interval: .seconds(seconds)), longestWait: longestWait)
  }

  @Test("A burst is admitted immediately, and the other calls are admitted one per interval, in order of arrival")
  func inOrder() {
    var machine = machine(burst: 2, every: 3)
    let admissions = (0..<5).map { _ in machine.arrived(at: .zero) }
    #expect(admissions == [.granted, .granted, .waiting(0), .waiting(1), .waiting(2)])
    #expect(machine.nextGrant == .seconds(3) && machine.waitingCount == 3)
    #expect([2, 3, 5, 6].map { machine.timePassed(to: .seconds($0)) } == [[], [0], [], [1]])
    #expect(machine.arrived(at: .seconds(7)) == .waiting(3))
    #expect(machine.timePassed(to: .seconds(100)) == [2, 3])
    #expect(machine.tokens(at: .seconds(100)) == 2 && machine.nextGrant == nil)
  }

  @Test("The callers behind a caller that leaves move up, and a place is left only once")
  func leaving() {
    var machine = machine(burst: 1, every: 1)
    for _ in 0..<5 { _ = machine.arrived(at: .zero) }
    for ticket in [1, 0, 0, 9] { machine.left(ticket) }
    #expect(machine.head == 2 && machine.waitingCount == 2 && !machine.isWaiting(1) && machine.isWaiting(3))
    #expect(machine.timePassed(to: .seconds(2)) == [2, 3])
  }

  @Test("A call that is not made does not count, unless a later call has been admitted")
  func abandoned() {
    var machine = machine(burst: 1, every: 2)
    for _ in 0..<5 { _ = machine.arrived(at: .zero) }
    #expect(machine.timePassed(to: .seconds(2)) == [0])
    machine.callAbandoned(0, at: .seconds(3))
    #expect(machine.nextGrant == .seconds(3) && machine.timePassed(to: .seconds(3)) == [1])
    #expect(machine.timePassed(to: .seconds(5)) == [2])
    for ticket in [0, 1, 3, 2] { machine.callAbandoned(ticket, at: .seconds(5)) }
    #expect(machine.nextGrant == .seconds(5) && machine.timePassed(to: .seconds(5)) == [3])
    #expect(machine.arrived(at: .seconds(7)) == .granted)
    machine.callAbandoned(3, at: .seconds(7))
    #expect(machine.tokens(at: .seconds(7)) == 0)
  }

  @Test("A call whose token is available counts as admitted, even if an earlier call is given up before it is noticed")
  func abandonedLate() {
    var machine = machine(burst: 1, every: 2)
    for _ in 0..<4 { _ = machine.arrived(at: .zero) }
    #expect(machine.timePassed(to: .seconds(2)) == [0])
    machine.callAbandoned(0, at: .seconds(5))
    #expect(!machine.isWaiting(1) && machine.isWaiting(2) && machine.nextGrant == .seconds(6))
  }

  @Test("A call that would have to wait too long is refused, with the time of the next admission")
  func refusal() {
    var patient = machine(burst: 1, every: 2, longestWait: .seconds(4))
    let admissions = (0..<4).map { _ in patient.arrived(at: .zero) }
    #expect(admissions == [.granted, .waiting(0), .waiting(1), .refused(until: .seconds(6))])
    var impatient = machine(burst: 1, every: 2, longestWait: .zero)
    #expect(
      [0, 1, 2].map { impatient.arrived(at: .seconds($0)) } == [.granted, .refused(until: .seconds(2)), .granted])
    var closed = machine(burst: 0, every: 1)
    #expect((0..<2).map { _ in closed.arrived(at: .longest) } == [.refused(until: nil), .refused(until: nil)])
  }

  @Test("In random scripts, grants are in order, never too many in any period, and never later than necessary")
  func random() {
    for seed in 0..<UInt64(TestDepth.count(300)) {
      var random = SeededGenerator(seed: seed)
      if let objection = run(&random) { Issue.record("seed \(seed): \(objection)") }
    }
  }

  /// Runs one random script. Every waiting call checks the limiter once per second, so that a grant is seen on time.
  private func run(_ random: inout SeededGenerator) -> String? {
    let (burst, interval) = (1 + random.below(4), 1 + random.below(4))
    var machine = machine(burst: burst, every: interval)
    var (waiting, grants): ([Int], [Int]) = ([], [])
    var latest: Int?
    for now in 0..<200 {
      let granted = machine.timePassed(to: .seconds(now))
      guard Array(waiting.prefix(granted.count)) == granted else { return "\(now): granted \(granted) of \(waiting)" }
      waiting.removeFirst(granted.count)
      grants += granted.map { _ in now }
      latest = granted.last ?? latest
      for _ in 0..<(random.chance(percent: 10) ? random.below(8) : random.below(2)) {
        switch machine.arrived(at: .seconds(now)) {
        case .granted where waiting.isEmpty:
          grants.append(now)
          latest = nil
        case .waiting(let ticket): waiting.append(ticket)
        default: return "\(now): overtaken or refused"
        }
      }
      if let abandoned = latest, random.chance(percent: 10) {
        machine.callAbandoned(abandoned, at: .seconds(now))
        grants.removeLast()
        latest = nil
        // Every call that has been granted continues immediately.
        let granted = machine.timePassed(to: .seconds(now))
        waiting.removeFirst(granted.count)
        grants += granted.map { _ in now }
        latest = granted.last
      }
      if !waiting.isEmpty, random.chance(percent: 20) { machine.left(waiting.remove(at: random.below(waiting.count))) }
      guard machine.waitingCount == waiting.count else { return "\(now): \(machine.waitingCount) wait" }
      // No period has more grants than the burst plus the refill. While a call is waiting, the latest period has exactly that number.
      for (index, start) in grants.enumerated() where grants.count - index > burst + (now - start) / interval {
        return "\(now): \(grants.count - index) since \(start)"
      }
      let isExhausted = grants.indices.contains { grants.count - $0 >= burst + (now - grants[$0]) / interval }
      if !waiting.isEmpty, !isExhausted { return "\(now): \(waiting) wait for nothing" }
    }
    return nil
  }
}
