import Testing

@testable import ProcedureKit

private let all = ResourceLedger.wholeCategory

@Suite struct ResourceLedgerTests {
  @Test("R1: a claim takes all that it wants or nothing, and keeps its place for all of it")
  func together() {
    var desk = LedgerDesk()
    let (a, b) = (desk.category(), desk.category())
    let holder = desk.hold([a: all])
    let both = desk.wait(for: [a: all, b: all])
    // `b` is free, and the next in line for it is the one that waits for `a` as well.
    let later = desk.wait(for: [b: all])
    #expect(desk.end(holder) == [both])
    #expect(desk.end(both) == [later])
    #expect(desk.end(later) == [])
    #expect(desk.isVacant)
  }

  @Test("R1: readers share, and none that comes after a writer overtakes it")
  func readersAndWriters() {
    var desk = LedgerDesk()
    let a = desk.category()
    let (first, second) = (desk.hold([a: 1]), desk.hold([a: 1]))
    let writer = desk.wait(for: [a: all])
    let (third, fourth) = (desk.wait(for: [a: 1]), desk.wait(for: [a: 1]))
    #expect(desk.end(first) == [])
    #expect(desk.end(second) == [writer])
    #expect(desk.end(writer) == [third, fourth])
    #expect(desk.end(fourth) + desk.end(third) == [])
    #expect(desk.isVacant)
  }

  @Test("R1: a big claim is not overtaken by small ones that would fit")
  func bigClaims() {
    var desk = LedgerDesk()
    let gpu = desk.resource(4)
    let (one, two) = (desk.hold([gpu: 1]), desk.hold([gpu: 2]))
    let big = desk.wait(for: [gpu: 4])
    let small = desk.wait(for: [gpu: 1])
    #expect(desk.end(one) == [])
    #expect(desk.end(two) == [big])
    #expect(desk.end(big) == [small])
    #expect(desk.end(small) == [] && desk.isVacant)
  }

  @Test("R3: who is cancelled while waiting gives nothing back, and those behind it come forward")
  func cancelledWaiters() {
    var desk = LedgerDesk()
    let a = desk.category()
    let holder = desk.hold([a: 1])
    let writer = desk.wait(for: [a: all])
    let (reader, last) = (desk.wait(for: [a: 1]), desk.wait(for: [a: all]))
    #expect(desk.end(last) == [])
    #expect(desk.end(writer) == [reader])
    let next = desk.wait(for: [a: all])
    #expect(desk.end(holder) == [])
    #expect(desk.end(reader) == [next])
    #expect(desk.end(next) == [] && desk.isVacant)
  }

  @Test("R1: a resource that is free again is forgotten, whoever was the last to want it")
  func vacancy() {
    var desk = LedgerDesk()
    let (a, b) = (desk.category(), desk.category())
    let holder = desk.hold([a: 1])
    let waiter = desk.wait(for: [a: all, b: 1])
    #expect(desk.end(waiter) == [])
    #expect(desk.openResources == [a])
    #expect(desk.end(holder) == [] && desk.isVacant)
  }

  @Test("Storage is let go of when many claims have ended, and not while one is left")
  func storage() {
    var desk = LedgerDesk()
    let a = desk.category()
    desk.checksInvariants = false
    let holder = desk.hold([a: all])
    let waiters = (0..<2_000).map { _ in desk.wait(for: [a: all]) }
    for waiter in waiters { #expect(desk.end(waiter) == []) }
    #expect(desk.ledger.claims.count > 2_000)
    #expect(desk.end(holder) == [] && desk.isVacant)
    #expect(desk.ledger.claims.isEmpty && desk.ledger.places.isEmpty && desk.ledger.pools.isEmpty)
  }
}
