import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite struct CircuitBreakerMachineTests {
  private typealias Machine = CircuitBreakerMachine

  private static let limits = Machine.Limits(
    failureRatio: 0.5, minimumCalls: 4, window: .seconds(10), cooldown: .seconds(5))

  private func permit(_ machine: inout Machine, at now: Duration) -> Machine.Permit? {
    if case .admitted(let permit) = machine.callWanted(at: now) { permit } else { nil }
  }

  /// Makes one call that ends immediately. Returns whether it was admitted.
  @discardableResult
  private func call(_ machine: inout Machine, _ ending: Machine.Ending, at now: Duration) -> Bool {
    guard let permit = permit(&machine, at: now) else { return false }
    machine.callEnded(permit, ending, at: now)
    return true
  }

  private func opened(at now: Duration = .zero) -> Machine {
    var machine = Machine(Self.limits)
    for _ in 0..<4 { call(&machine, .failed, at: now) }
    return machine
  }

  @Test("A breaker opens when enough calls have ended and too many of them have failed")
  func opens() {
    for (endings, isOpen) in [("fff", false), ("ffff", true), ("ssff", true), ("sssf", false), ("sssfff", true)] {
      var machine = Machine(Self.limits)
      for ending in endings { call(&machine, ending == "f" ? .failed : .succeeded, at: .zero) }
      #expect((machine.state == .open(until: .seconds(5))) == isOpen, "\(endings)")
    }
  }

  @Test("A success never opens a breaker, and an abandoned call does not count")
  func successes() {
    var machine = Machine(Self.limits)
    for ending in [Machine.Ending.failed, .failed, .failed, .abandoned, .abandoned, .succeeded] {
      call(&machine, ending, at: .zero)
    }
    #expect(machine.state == .closed)
  }

  @Test("Failures that are older than the window are forgotten")
  func window() {
    var machine = Machine(Self.limits)
    for _ in 0..<3 { call(&machine, .failed, at: .zero) }
    call(&machine, .failed, at: .seconds(10))
    #expect(machine.state == .closed)
    for _ in 0..<2 { call(&machine, .failed, at: .seconds(18)) }
    call(&machine, .failed, at: .seconds(19))
    #expect(machine.state == .open(until: .seconds(24)))
  }

  @Test("An open breaker refuses until it has cooled down, and then admits one probe")
  func cooldown() {
    var machine = opened()
    #expect(machine.callWanted(at: .seconds(4)) == .refused(until: .seconds(5)))
    let probe = permit(&machine, at: .seconds(5))
    #expect(probe != nil && machine.state == .halfOpen)
    #expect(machine.callWanted(at: .seconds(99)) == .refused(until: nil))
  }

  @Test(
    "A successful probe resets the breaker, a failed one opens it again, and a cancelled one leaves the decision to the next",
    arguments: [CircuitBreakerMachine.Ending.succeeded, .failed, .abandoned])
  func probe(_ ending: CircuitBreakerMachine.Ending) {
    var machine = opened()
    call(&machine, ending, at: .seconds(5))
    switch ending {
    case .succeeded:
      #expect(machine.state == .closed)
      for _ in 0..<3 { call(&machine, .failed, at: .seconds(5)) }
      #expect(machine.state == .closed)
    case .failed: #expect(machine.state == .open(until: .seconds(10)))
    case .abandoned:
      let isAdmitted = call(&machine, .succeeded, at: .seconds(5))
      #expect(isAdmitted && machine.state == .closed)
    }
  }

  @Test("A call that began before the state changed does not affect the state")
  func late() {
    var machine = Machine(Self.limits)
    let early = (0..<8).compactMap { _ in permit(&machine, at: .zero) }
    for permit in early.prefix(4) { machine.callEnded(permit, .failed, at: .zero) }
    #expect(machine.state == .open(until: .seconds(5)))
    machine.callEnded(early[4], .succeeded, at: .seconds(5))
    #expect(machine.state == .open(until: .seconds(5)))
    let probe = permit(&machine, at: .seconds(5))
    machine.callEnded(early[5], .failed, at: .seconds(6))
    #expect(machine.state == .halfOpen)
    if let probe { machine.callEnded(probe, .succeeded, at: .seconds(6)) }
    for permit in early[6...] { machine.callEnded(permit, .failed, at: .seconds(6)) }
    #expect(machine.state == .closed)
  }

  @Test("In random scripts, the window agrees with a list of all calls")
  func windowAgreesWithModel() {
    for seed in 0..<UInt64(TestDepth.count(200)) {
      var random = SeededGenerator(seed: seed)
      var window = SlidingWindow(length: .seconds(10))
      var (now, calls): (Int, [(second: Int, failed: Bool)]) = (0, [])
      for step in 0..<100 {
        now += random.chance(percent: 5) ? random.below(30) : random.below(2)
        let failed = random.chance(percent: 40)
        window.callEnded(failed: failed, at: .seconds(now))
        calls.append((now, failed))
        let recent = calls.filter { $0.second > now - 10 }
        let expected = SlidingWindow.Count(calls: recent.count, failures: recent.count { $0.failed })
        if window.count(at: .seconds(now)) != expected { Issue.record("seed \(seed), step \(step)") }
      }
    }
  }

  @Test("The limits accept any number")
  func extremes() {
    for ratio in [Double.nan, .infinity, 2, -1, 0] {
      for length in [Duration.zero, .seconds(-1), Duration(attoseconds: .max)] {
        var machine = Machine(.init(failureRatio: ratio, minimumCalls: -1, window: length, cooldown: length))
        for now in [Duration.zero, .longest] {
          for _ in 0..<3 { call(&machine, .failed, at: now) }
        }
        #expect((machine.state == .closed) == !(ratio <= 1), "\(ratio), \(length)")
      }
    }
  }
}
