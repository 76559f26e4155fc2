import Testing

@testable import ProcedureKit

private let all = ResourceLedger.wholeCategory

/// What is held is passed on, and who has come before it claimed has its turn.
@Suite struct ResourceLedgerPassingTests {
  @Test("R1: what is passed on is held without a moment between, and those who wait keep their places")
  func passing() {
    var desk = LedgerDesk()
    let key = desk.category()
    let holder = desk.hold([key: all])
    let former = desk.ledger.reference(to: holder)
    let waiter = desk.wait(for: [key: all])
    let next = desk.passOn(holder)
    #expect(next?.claim == holder && next != former)
    #expect(!desk.ledger.isPresent(former))
    #expect(next.map { desk.ledger.isHolding($0) } ?? false)
    #expect(desk.ledger.claims[Int(waiter)].state == .waiting)
    #expect(desk.end(holder) == [waiter])
    #expect(desk.end(waiter) == [] && desk.isVacant)
  }

  @Test("R4: nothing is passed on while a claim is inside, nor by one that is inside, waits, or holds several things")
  func refusing() {
    var desk = LedgerDesk()
    let key = desk.category()
    let holder = desk.hold([key: all])
    let inside = desk.hold([key: all], inside: [holder])
    #expect(desk.passOn(holder) == nil && desk.passOn(inside) == nil)
    let waiter = desk.wait(for: [key: all])
    #expect(desk.passOn(waiter) == nil)
    #expect(desk.end(inside) == [])
    // The place for claims inside goes with the one that they were inside of.
    let next = desk.passOn(holder)
    #expect(next != nil)
    let innermost = desk.hold([key: all], inside: [holder])
    #expect(desk.passOn(holder) == nil)
    #expect(desk.end(innermost) == [] && desk.end(holder) == [waiter] && desk.end(waiter) == [])
    // Nobody wants the key any more, so it was forgotten.
    let both = desk.hold([desk.category(): all, desk.category(): all])
    #expect(desk.passOn(both) == nil)
    #expect(desk.end(both) == [] && desk.isVacant)
  }

  @Test("R4: nothing is passed on by one whose body waits for something")
  func awaiting() {
    var desk = LedgerDesk()
    let key = desk.category()
    let holder = desk.hold([key: all])
    desk.startAwait(1, inside: [holder], idlers: [])
    #expect(desk.passOn(holder) == nil)
    desk.endAwait(1)
    #expect(desk.passOn(holder) != nil)
    #expect(desk.end(holder) == [] && desk.isVacant)
  }

  @Test("R1: who has come in an earlier turn comes before all later ones, in order, and behind those of earlier turns")
  func turns() {
    var desk = LedgerDesk()
    let key = desk.category()
    let holder = desk.hold([key: all])
    let turn = desk.ledger.claims[Int(holder)].serial
    let later = (0..<2).map { _ in desk.wait(for: [key: all]) }
    let earlier = (0..<3).map { _ in desk.waitInTurn(of: turn, for: key) }
    let last = desk.wait(for: [key: all])
    // One of them goes, and another comes in the same turn.
    #expect(desk.end(earlier[2]) == [])
    let another = desk.waitInTurn(of: turn, for: key)
    var (order, claim): ([Int32], Int32?) = ([], holder)
    while let ended = claim {
      let granted = desk.end(ended)
      claim = granted.first
      order += granted
    }
    #expect(order == [earlier[0], earlier[1], another] + later + [last])
    #expect(desk.isVacant)
  }

  @Test("R1: what 2,000 cost that come in an earlier turn does not grow with the 2,000 that wait already")
  func cost() {
    var desk = LedgerDesk()
    desk.checksInvariants = false
    let key = desk.category()
    let holder = desk.hold([key: all])
    let turn = desk.ledger.claims[Int(holder)].serial
    for _ in 0..<2_000 { _ = desk.wait(for: [key: all]) }
    let steps = desk.ledger.steps
    for _ in 0..<2_000 { _ = desk.waitInTurn(of: turn, for: key) }
    #expect(desk.ledger.steps - steps <= 2_000)
  }
}
