import Testing

@testable import ProcedureKit

private let all = ResourceLedger.wholeCategory

@Suite struct ResourceLedgerNestingTests {
  @Test("R4: a claim inside of a holder shares with it; its siblings wait for each other, outsiders for all of them")
  func nested() {
    var desk = LedgerDesk()
    let a = desk.category()
    let group = desk.hold([a: all])
    let outsider = desk.wait(for: [a: all])
    let first = desk.hold([a: all], inside: [group])
    let second = desk.wait(for: [a: 1], inside: [group])
    let inner = desk.hold([a: all], inside: [first, group])
    #expect(desk.end(inner) == [])
    #expect(desk.end(first) == [second])
    #expect(desk.end(second) == [])
    #expect(desk.end(group) == [outsider])
    #expect(desk.end(outsider) == [] && desk.isVacant)
  }

  @Test("R4: inside of a reader others read, and who wants to write there waits for all other readers")
  func upgrade() {
    var desk = LedgerDesk()
    let a = desk.category()
    let (reader, other) = (desk.hold([a: 1]), desk.hold([a: 1]))
    let inner = desk.hold([a: 1], inside: [reader])
    let writer = desk.wait(for: [a: all], inside: [reader])
    #expect(desk.end(other) == [])
    #expect(desk.end(inner) == [writer])
    let late = desk.wait(for: [a: 1])
    #expect(desk.end(writer) == [late])
    #expect(desk.end(late) + desk.end(reader) == [] && desk.isVacant)
  }

  @Test("R1: siblings that want more than their ancestor has come first served first, and before outsiders")
  func siblingsInOrder() {
    var desk = LedgerDesk()
    let a = desk.category()
    let (group, other) = (desk.hold([a: 1]), desk.hold([a: 1]))
    let outsider = desk.wait(for: [a: all])
    let (first, second) = (desk.wait(for: [a: all], inside: [group]), desk.wait(for: [a: all], inside: [group]))
    #expect(desk.end(other) == [first])
    #expect(desk.end(first) == [second])
    #expect(desk.end(second) == [])
    #expect(desk.end(group) == [outsider])
    #expect(desk.end(outsider) == [] && desk.isVacant)
  }

  @Test("R4: readers inside of a writer share; a writer among them has to be alone there")
  func readersInsideOfAWriter() {
    var desk = LedgerDesk()
    let a = desk.category()
    let group = desk.hold([a: all])
    let (one, two) = (desk.hold([a: 1], inside: [group]), desk.hold([a: 1], inside: [group]))
    let writer = desk.wait(for: [a: all], inside: [one, group])
    #expect(desk.end(two) == [writer])
    #expect(desk.end(writer) + desk.end(one) + desk.end(group) == [] && desk.isVacant)
  }

  @Test("R4: a claim for more units than its ancestor has takes these, and the rest from around")
  func unitsBeyondTheAncestor() {
    var desk = LedgerDesk()
    let gpu = desk.resource(4)
    let (group, other) = (desk.hold([gpu: 2]), desk.hold([gpu: 1]))
    let big = desk.wait(for: [gpu: 4], inside: [group])
    #expect(desk.end(other) == [big])
    let innermost = desk.hold([gpu: 4], inside: [big, group])
    let outsider = desk.wait(for: [gpu: 1])
    #expect(desk.end(innermost) == [])
    #expect(desk.end(big) == [outsider])
    let sibling = desk.hold([gpu: 3], inside: [group])
    #expect(desk.end(sibling) + desk.end(outsider) + desk.end(group) == [] && desk.isVacant)
  }

  @Test("R4: what a holder has stays taken until the claims inside of it have ended as well")
  func claimsThatOutlive() {
    var desk = LedgerDesk()
    let (a, b) = (desk.category(), desk.category())
    let group = desk.hold([a: all, b: all])
    let child = desk.hold([a: 1], inside: [group])
    let grandchild = desk.hold([a: 1], inside: [child, group])
    let outsider = desk.wait(for: [b: all])
    #expect(desk.end(group) == [])
    #expect(desk.end(child) == [])
    #expect(desk.ledger.claims[Int(group)].state == .over && desk.ledger.claims[Int(child)].state == .over)
    // It comes from inside of `grandchild`, without which nothing is given back.
    let further = desk.hold([b: all], inside: [grandchild, child, group])
    #expect(desk.end(further) == [])
    // It comes from something that has ended, and stands in line like everybody else.
    let late = desk.wait(for: [b: all], inside: [group])
    #expect(desk.end(grandchild) == [outsider])
    #expect(desk.end(outsider) == [late])
    #expect(desk.end(late) == [] && desk.isVacant)
  }

  @Test(
    "R4: a claim inside of a holder is not queued behind those that wait for the holder, nor behind whom these delay")
  func bypass() {
    var desk = LedgerDesk()
    let (a, b, c) = (desk.category(), desk.category(), desk.category())
    let group = desk.hold([a: all])
    let other = desk.hold([b: all])
    let first = desk.wait(for: [b: all])
    let both = desk.wait(for: [a: all, b: all])
    let behind = desk.wait(for: [b: all, c: all])
    // It needs `b`, for which `both` waits, which waits for `group`.
    let child = desk.wait(for: [b: all], inside: [group])
    let free = desk.hold([c: all], inside: [group])
    #expect(desk.end(other) == [first])
    #expect(desk.end(first) == [child])
    #expect(desk.end(free) + desk.end(child) == [])
    #expect(desk.end(group) == [both])
    #expect(desk.end(both) == [behind])
    #expect(desk.end(behind) == [] && desk.isVacant)
  }

  @Test("R4: a claim that waited behind others overtakes them once they wait for what it is inside of")
  func bypassLater() {
    var desk = LedgerDesk()
    let (x, y) = (desk.category(), desk.category())
    let group = desk.hold([x: all])
    let reader = desk.hold([y: 1])
    let writer = desk.wait(for: [y: all])
    let child = desk.wait(for: [y: 1], inside: [group])
    // Now `writer` waits for `reader`, that for `late`, that for `group`, and that for `child`.
    let (late, answer) = desk.claim([x: all], inside: [reader])
    #expect(answer == .waits([child]))
    #expect(desk.end(child) == [])
    #expect(desk.end(group) == [late])
    #expect(desk.end(late) == [])
    #expect(desk.end(reader) == [writer])
    #expect(desk.end(writer) == [] && desk.isVacant)
  }
}
