import TestSupport
import Testing

@testable import ProcedureKit

private let all = ResourceLedger.wholeCategory

/// Compares two sizes in one run: where the cost grows with the square, a claim costs ten times as much in the larger.
@Suite(.enabled(if: TestDepth.isAtLeastGate)) struct ResourceLedgerCostTests {
  enum Crowd: CaseIterable {
    case onOneKey
    case onManyKeys
    /// Each wants three keys at a time, which overlap.
    case onSeveralKeysEach
    /// Inside of one holder of the same key, with some outsiders waiting for that.
    case insideOfOneHolder
    /// From tasks that outlived what they were inside of.
    case leftBehind
    /// While some body waits for something else.
    case duringAnAwait
    /// All withdraw, the last ones first, and are never granted.
    case cancelled
  }

  @Test("R1: claims come and go at a linear cost: 50,000 cost each about what 5,000 do", arguments: Crowd.allCases)
  func claimsAreLinear(_ crowd: Crowd) {
    let few = (0..<5).map { _ in costOfEach(of: 5_000, crowd) }.min() ?? .zero
    let many = (0..<3).map { _ in costOfEach(of: 50_000, crowd) }.min() ?? .zero
    #expect(many < few * 5)
  }

  @Test(
    "R1: 100,000 waiters on one key are granted in order; 100,000 claims over 1,000 keys all end",
    arguments: [1, 1_000])
  func manyClaims(keys: Int) {
    var ledger = ResourceLedger()
    let pools = (0..<keys).map { _ in ledger.resourceOpened(capacity: all) }
    var next = (0..<keys).map { number in ledger.claimed([.init(pool: pools[number], units: all)]).claim }
    for number in keys..<100_000 { _ = ledger.claimed([.init(pool: pools[number % keys], units: all)]) }
    var (ended, vacated): (Int, [Int32]) = (0, [])
    while let claim = next.popLast() {
      var granted: [Int32] = []
      ledger.ended(claim, granted: &granted, vacated: &vacated)
      #expect(granted.first.map { $0 > claim } ?? true && granted.count <= 1)
      next += granted
      ended += 1
    }
    #expect(ended == 100_000)
    #expect(Set(vacated) == Set(pools) && vacated.count == keys)
  }

  /// Claims from inside of holders, which could each look at everybody else.
  enum NestedCrowd: CaseIterable {
    /// As many children of a holder as outsiders in its line.
    case childrenAndOutsiders
    /// The same, where all want two things.
    case wantingTwoThings
    /// Children that want something else, of which each holder has one.
    case childrenThatWantOutside
    /// Readers, of which each awaits a run that wants to read as well, behind a writer; the first ones first, or last.
    case readersThatAwait, readersThatAwaitBackwards
    /// Readers, of which each awaits a run that waits for something else.
    case awaitedElsewhere
    /// Each awaited run begins to wait itself.
    case awaitedInChains
  }

  @Test("R4: what claims inside of holders look at is linear in their number", arguments: NestedCrowd.allCases)
  func nestedClaimsAreLinear(_ crowd: NestedCrowd) {
    let (few, many) = (steps(of: 500, crowd), steps(of: 5_000, crowd))
    #expect(many <= few * 11 + 100, "\(few) steps for 500, \(many) for 5,000")
  }

  private func steps(of count: Int, _ crowd: NestedCrowd) -> Int {
    var desk = LedgerDesk()
    desk.checksInvariants = false
    let (x, y) = (desk.category(), desk.category())
    switch crowd {
    case .childrenAndOutsiders, .wantingTwoThings, .childrenThatWantOutside:
      let wants = crowd == .wantingTwoThings ? [x: all, y: all] : [x: all]
      let holder = desk.hold(wants)
      if crowd == .childrenThatWantOutside { _ = desk.hold([y: all]) }
      for _ in 0..<count { _ = desk.wait(for: wants) }
      let inner = crowd == .childrenThatWantOutside ? [y: all] : wants
      var children = (0..<count).map { _ in desk.claim(inner, inside: [holder]).claim }
      if crowd != .childrenThatWantOutside { while let child = children.popLast() { _ = desk.end(child) } }
    case .readersThatAwait, .readersThatAwaitBackwards:
      let holders = (0..<count).map { _ in desk.hold([x: 1]) }
      _ = desk.wait(for: [x: all])
      let claims = holders.indices.map { desk.claim([x: 1], for: .init(own: UInt64($0) + 1)).claim }
      let order = crowd == .readersThatAwait ? Array(holders.indices) : holders.indices.reversed()
      for index in order {
        let (granted, _) = desk.await(
          UInt64(index), inside: [holders[index]], for: [UInt64(index) + 1], claims: [claims[index]])
        precondition(granted == [claims[index]])
      }
    case .awaitedElsewhere, .awaitedInChains:
      _ = desk.hold([y: all])
      for index in 0..<count {
        let (holder, run) = (desk.hold([x: 1]), UInt64(index) * 2 + 1)
        let claim = desk.claim([y: all], for: .init(own: run + (crowd == .awaitedInChains ? 1 : 0))).claim
        let targets: Set = crowd == .awaitedInChains ? [run, run + 1] : [run]
        _ = desk.await(UInt64(index), inside: [holder], for: targets, claims: [claim])
      }
    }
    return desk.ledger.steps
  }

  private func costOfEach(of count: Int, _ crowd: Crowd) -> Duration {
    var ledger = ResourceLedger()
    let keys = crowd == .onManyKeys || crowd == .onSeveralKeysEach ? count / 100 : 1
    let pools = (0..<keys).map { _ in ledger.resourceOpened(capacity: all) }
    let first = ledger.claimed([.init(pool: pools[0], units: all)]).claim
    var ancestors: [ResourceLedger.Reference] = []
    if crowd == .insideOfOneHolder || crowd == .leftBehind { ancestors = [ledger.reference(to: first)] }
    if crowd == .leftBehind { end(first, &ledger) }
    if crowd == .insideOfOneHolder { for _ in 0..<3 { _ = ledger.claimed([.init(pool: pools[0], units: 1)]) } }
    if crowd == .duringAnAwait { startAwait(inside: ledger.reference(to: first), &ledger) }
    let elapsed = ProcessorTime.measure {
      var claims: [Int32] = []
      for number in 0..<count {
        let demands = (0..<(crowd == .onSeveralKeysEach ? 3 : 1)).map { shift in
          ResourceLedger.Demand(pool: pools[(number + shift) % keys], units: all)
        }
        claims.append(ledger.claimed(demands, inside: ancestors).claim)
      }
      for claim in crowd == .cancelled ? claims.reversed() : claims { end(claim, &ledger) }
    }
    return elapsed / count
  }

  private func end(_ claim: Int32, _ ledger: inout ResourceLedger) {
    var (granted, vacated): ([Int32], [Int32]) = ([], [])
    ledger.ended(claim, granted: &granted, vacated: &vacated)
  }

  private func startAwait(inside holder: ResourceLedger.Reference, _ ledger: inout ResourceLedger) {
    var granted: [Int32] = []
    var refused: [(claim: Int32, circle: [ResourceLedger.Link])] = []
    ledger.awaitStarted(0, holders: [holder])
    ledger.awaitReached([1], from: .await(0), claims: [], granted: &granted, refused: &refused)
  }
}
