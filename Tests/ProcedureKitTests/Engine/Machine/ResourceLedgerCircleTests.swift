import Testing

@testable import ProcedureKit

private let all = ResourceLedger.wholeCategory

@Suite struct ResourceLedgerCircleTests {
  typealias Link = ResourceLedger.Link

  @Test("R4: two that each hold what the other wants inside: the second is refused, and the circle named")
  func circleOfTwo() {
    var desk = LedgerDesk()
    let (x, y) = (desk.category(), desk.category())
    let (a, b) = (desk.hold([x: all]), desk.hold([y: all]))
    let inA = desk.wait(for: [y: all], inside: [a])
    let (inB, answer) = desk.claim([x: all], inside: [b])
    #expect(answer == .deadlocked([Link(claim: inB, pool: x, holder: a), Link(claim: inA, pool: y, holder: b)]))
    #expect(desk.end(inB) == [])
    #expect(desk.end(b) == [inA])
    #expect(desk.end(inA) + desk.end(a) == [] && desk.isVacant)
  }

  @Test("R4: a circle of three is found when it closes, and named in order")
  func circleOfThree() {
    var desk = LedgerDesk()
    let pools = (0..<3).map { _ in desk.category() }
    let holders = pools.map { desk.hold([$0: all]) }
    let first = desk.wait(for: [pools[1]: all], inside: [holders[0]])
    let second = desk.wait(for: [pools[2]: 1], inside: [holders[1]])
    let (third, answer) = desk.claim([pools[0]: all], inside: [holders[2]])
    #expect(
      answer
        == .deadlocked([
          Link(claim: third, pool: pools[0], holder: holders[0]),
          Link(claim: first, pool: pools[1], holder: holders[1]),
          Link(claim: second, pool: pools[2], holder: holders[2]),
        ]))
    #expect(desk.end(third) == [])
    #expect(desk.end(holders[2]) == [second])
    #expect(desk.end(second) == [])
    #expect(desk.end(holders[1]) == [first])
    #expect(desk.end(first) + desk.end(holders[0]) == [] && desk.isVacant)
  }

  @Test("R4: two readers that both want to write inside are a circle")
  func twoUpgrades() {
    var desk = LedgerDesk()
    let x = desk.category()
    let (a, b) = (desk.hold([x: 1]), desk.hold([x: 1]))
    let inA = desk.wait(for: [x: all], inside: [a])
    let (inB, answer) = desk.claim([x: all], inside: [b])
    #expect(answer == .deadlocked([Link(claim: inB, pool: x, holder: a), Link(claim: inA, pool: x, holder: b)]))
    #expect(desk.end(inB) == [])
    #expect(desk.end(b) == [inA])
    #expect(desk.end(inA) + desk.end(a) == [] && desk.isVacant)
  }

  @Test("R4: a circle is found also where a holder in it has the number of one that has ended")
  func numberUsedAgain() {
    var desk = LedgerDesk()
    let (x, y, z) = (desk.category(), desk.category(), desk.category())
    let (a, b) = (desk.hold([x: all]), desk.hold([y: 1]))
    let behind = desk.wait(for: [x: all, z: all])
    let ended = desk.hold([y: 1], inside: [b])
    let inB = desk.wait(for: [z: all], inside: [ended, b])
    #expect(desk.end(ended) == [])
    let again = desk.hold([z: all], inside: [a])
    #expect(again == ended)
    let (claim, answer) = desk.claim([y: all], inside: [again, a])
    #expect(answer == .deadlocked([Link(claim: claim, pool: y, holder: b), Link(claim: inB, pool: z, holder: again)]))
    for claim in [claim, again, inB, behind, b, a] { _ = desk.end(claim) }
    #expect(desk.isVacant)
  }

  @Test("R4: a circle is named by what is missing, and not by what its claims could have")
  func namedByWhatIsMissing() {
    var desk = LedgerDesk()
    let (units, x, y) = (desk.resource(4), desk.category(), desk.category())
    let (a, b) = (desk.hold([x: all]), desk.hold([y: all, units: 1]))
    let inA = desk.wait(for: [y: all, units: 2], inside: [a])
    let (inB, answer) = desk.claim([x: all], inside: [b])
    #expect(answer == .deadlocked([Link(claim: inB, pool: x, holder: a), Link(claim: inA, pool: y, holder: b)]))
    for claim in [inB, inA, b, a] { _ = desk.end(claim) }
    #expect(desk.isVacant)
  }

  @Test("R4: who only stands behind somebody in a line waits, and is not refused")
  func notACircle() {
    var desk = LedgerDesk()
    let (x, y) = (desk.category(), desk.category())
    let (a, b) = (desk.hold([x: all]), desk.hold([y: all]))
    // Wants what both hold, holds nothing, and so is in nobody's way.
    let both = desk.wait(for: [x: all, y: all])
    let inA = desk.wait(for: [y: all], inside: [a])
    #expect(desk.end(b) == [inA])
    #expect(desk.end(inA) == [])
    #expect(desk.end(a) == [both])
    #expect(desk.end(both) == [] && desk.isVacant)
  }

  @Test("R4: a claim that waits inside of what has ended keeps that, and can close a circle")
  func circleThroughWhatIsOver() {
    var desk = LedgerDesk()
    let (x, y) = (desk.category(), desk.category())
    let (a, b) = (desk.hold([x: all]), desk.hold([y: all]))
    let inA = desk.wait(for: [x: all, y: all], inside: [a])
    #expect(desk.end(a) == [])
    let (inB, answer) = desk.claim([x: all], inside: [b])
    #expect(answer == .deadlocked([Link(claim: inB, pool: x, holder: a), Link(claim: inA, pool: y, holder: b)]))
    #expect(desk.end(inB) == [])
    #expect(desk.end(b) == [inA])
    #expect(desk.end(inA) == [] && desk.isVacant)
  }

  @Test("A refused claim keeps the numbers of its resources from being used again until it has ended")
  func refusedClaimsKeepTheirResources() {
    var desk = LedgerDesk()
    let (x, y, z) = (desk.category(), desk.category(), desk.category())
    let (a, b, other) = (desk.hold([x: all]), desk.hold([y: all]), desk.hold([z: all]))
    let inA = desk.wait(for: [y: all], inside: [a])
    let (inB, answer) = desk.claim([x: all, z: all], inside: [b])
    guard case .deadlocked = answer else { return #expect(Bool(false), "\(answer)") }
    #expect(desk.end(other) == [])
    #expect(desk.openResources == [x, y, z])
    #expect(desk.end(inB) == [])
    #expect(desk.openResources == [x, y])
    for claim in [b, inA, a] { _ = desk.end(claim) }
    #expect(desk.isVacant)
  }

  @Test("R4: a claim of a run for which a holder waits is granted before those that wait for the holder, or refused")
  func awaits() {
    var desk = LedgerDesk()
    let (x, y) = (desk.category(), desk.category())
    let (a, b) = (desk.hold([x: all]), desk.hold([y: 1]))
    let outsider = desk.wait(for: [x: all, y: all])
    let (child, _) = desk.claim([y: 1], for: ResourceLedger.ClaimRuns(own: 7))
    let (other, _) = desk.claim([x: 1], for: ResourceLedger.ClaimRuns(own: 8))
    #expect(desk.await(1, inside: [a], for: [7], claims: [child]) == ([child], []))
    #expect(desk.await(2, inside: [a], for: [8], claims: [other]) == ([], [other]))
    desk.endAwait(1)
    desk.endAwait(2)
    for claim in [child, other, b] { #expect(desk.end(claim) == []) }
    #expect(desk.end(a) == [outsider])
    #expect(desk.end(outsider) == [] && desk.isVacant)
  }

  @Test("R1: whoever stood behind a claim that is granted because it is awaited is granted as well")
  func behindAnAwaitedClaim() {
    var desk = LedgerDesk()
    let (x, y) = (desk.category(), desk.category())
    let a = desk.hold([x: 1, y: 1])
    let outsider = desk.wait(for: [y: all])
    let (child, _) = desk.claim([x: 1, y: 1], for: ResourceLedger.ClaimRuns(own: 7))
    let behind = desk.wait(for: [x: 1])
    let granted = desk.await(1, inside: [a], for: [7], claims: [child])
    #expect(granted == ([child, behind], []))
    desk.endAwait(1)
    for claim in [child, behind] { #expect(desk.end(claim) == []) }
    #expect(desk.end(a) == [outsider])
    #expect(desk.end(outsider) == [] && desk.isVacant)
  }

  @Test("R4: who waits for a queue to be empty waits for all runs on it; who waits on it itself, for all but such runs")
  func queues() {
    var desk = LedgerDesk()
    let (x, q) = (desk.category(), ResourceLedger.nextQueue())
    let a = desk.hold([x: all])
    let on = { (run: UInt64) in ResourceLedger.ClaimRuns(own: .init(run: run, queue: q)) }
    let part = desk.hold([x: all], inside: [a])
    // A part of run 5, which waits itself for the queue that it is on.
    let (inner, _) = desk.claim([x: 1], for: ResourceLedger.ClaimRuns(around: [.init(run: 5, queue: q)]))
    desk.startAwait(1, inside: [part, a], idlers: [5])
    #expect(desk.reach([ResourceLedger.target(q, .idleness)], from: 1) == ([], []))
    let (first, answer) = desk.claim([x: 1], for: on(7))
    #expect(answer == .deadlocked([Link(claim: first, pool: x, holder: a)]))
    desk.endAwait(1)
    desk.startAwait(2, inside: [part, a], idlers: [])
    #expect(desk.reach([ResourceLedger.target(q, .emptiness)], from: 2) == ([], [inner]))
    desk.endAwait(2)
    for claim in [first, inner, part, a] { #expect(desk.end(claim) == []) }
    #expect(desk.isVacant && desk.ledger.idlers.isEmpty)
  }

  @Test("R4: who waits for room waits for ever only where none of those that wait to be started can be")
  func room() {
    var desk = LedgerDesk()
    let (x, y, q) = (desk.category(), desk.category(), ResourceLedger.nextQueue())
    let (a, b) = (desk.hold([x: all]), desk.hold([y: all]))
    let on = { (run: UInt64) in ResourceLedger.ClaimRuns(own: .init(run: run, queue: q), room: 2) }
    let (first, _) = desk.claim([x: 1], for: on(7))
    let (second, _) = desk.claim([y: 1], for: on(8))
    desk.startAwait(1, inside: [a], idlers: [])
    #expect(desk.reach([ResourceLedger.target(q, .room)], from: 1, claims: [first, second]) == ([], []))
    #expect(desk.end(b) == [second])
    let (third, answer) = desk.claim([x: 1], for: on(9))
    #expect(answer == .deadlocked([Link(claim: third, pool: x, holder: a)]))
    desk.endAwait(1)
    for claim in [third, second] { #expect(desk.end(claim) == []) }
    #expect(desk.end(a) == [first])
    #expect(desk.end(first) == [] && desk.isVacant)
  }

  @Test(
    "R4: a run that claims after a body has started to wait for it has its place before those that wait for the body")
  func claimsOfAwaitedRuns() {
    var desk = LedgerDesk()
    let (x, y) = (desk.category(), desk.category())
    let (a, b) = (desk.hold([x: all]), desk.hold([y: all]))
    let outsider = desk.wait(for: [x: all, y: all])
    #expect(desk.await(1, inside: [a], for: [7]) == ([], []))
    let (child, answer) = desk.claim([y: all], for: ResourceLedger.ClaimRuns(own: 9, around: [7]))
    #expect(answer == .waits([]))
    let (refused, refusal) = desk.claim([x: 1], for: ResourceLedger.ClaimRuns(own: 7))
    #expect(refusal == .deadlocked([Link(claim: refused, pool: x, holder: a)]))
    desk.endAwait(1)
    #expect(desk.end(refused) == [])
    #expect(desk.end(b) == [child])
    #expect(desk.end(child) == [])
    #expect(desk.end(a) == [outsider])
    #expect(desk.end(outsider) == [] && desk.isVacant)
  }
}
