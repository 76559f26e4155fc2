import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite(.timeLimit(.minutes(10))) struct CircuitBreakerTests {
  private func call(_ breaker: CircuitBreaker, _ ending: CircuitBreakerMachine.Ending) {
    if case .admitted(let permit) = breaker.callWanted() { breaker.callEnded(permit, ending) }
  }

  @Test("A breaker changes its state on its own clock, and reports each state in order")
  func states() async {
    let clock = VirtualClock()
    var breaker: CircuitBreaker? = CircuitBreaker(minimumCalls: 2, cooldown: .seconds(5), clock: clock)
    let early = breaker?.states
    for _ in 0..<2 { breaker.map { call($0, .failed) } }
    #expect(breaker?.state == .open)
    clock.advance(by: .seconds(4))
    #expect(breaker?.callWanted() == .refused(until: .seconds(5)))
    #expect(breaker?.time.remaining(until: .seconds(5)) == .seconds(1))
    let late = breaker?.states
    clock.advance(by: .seconds(1))
    breaker.map { call($0, .succeeded) }
    #expect(breaker?.state == .closed)
    breaker = nil
    #expect(await all(early) == [.closed, .open, .halfOpen, .closed])
    #expect(await all(late) == [.open, .halfOpen, .closed])
  }

  private func all(_ states: AsyncStream<CircuitBreaker.State>?) async -> [CircuitBreaker.State] {
    guard let states else { return [] }
    return await states.reduce(into: []) { $0.append($1) }
  }

  @Test("Of all calls that are made when a breaker has cooled down, one is the probe")
  func oneProbe() async {
    let clock = VirtualClock()
    let breaker = CircuitBreaker(minimumCalls: 1, cooldown: .seconds(1), clock: clock)
    call(breaker, .failed)
    clock.advance(by: .seconds(1))
    let admitted = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<100 {
        group.addTask { if case .admitted = breaker.callWanted() { true } else { false } }
      }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(admitted == 1 && breaker.state == .halfOpen)
  }
}
