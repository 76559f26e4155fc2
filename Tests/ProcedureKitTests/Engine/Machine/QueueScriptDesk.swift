/// What one in a ``QueueScript`` claims that wants one thing alone: a member of the queue, or somebody elsewhere.
final class DeskClaim {
  let wish: UInt64
  /// Who claims; nobody that the queue knows of, if there is none.
  let member: ScriptMember?
  /// Its own, or the highest of those that have come to wait for it.
  var priority: UInt8
  /// When it has come to want this.
  let arrival: Int
  /// When it was granted, if that was at once; or when what it has taken over was.
  var turn: ScriptDesk.Turn?
  /// It comes before all of higher ones.
  fileprivate var place = 0

  init(_ wish: UInt64, for member: ScriptMember?, priority: UInt8, arrival: Int) {
    (self.wish, self.member, self.priority, self.arrival) = (wish, member, priority, arrival)
  }
}

/// Who holds things that exclude, and who waits for them: first come, first served.
struct ScriptDesk {
  /// A moment at which nobody waited for a thing.
  struct Turn: Equatable {
    var place = 0
    /// How many had come to wait for it by then.
    var waits = 0
  }

  private var holders: [UInt64: DeskClaim] = [:]
  private var lines: [UInt64: [DeskClaim]] = [:]
  private var counts: [UInt64: Int] = [:]
  private var lastPlace = 0

  /// How many have come to wait for a thing.
  func waits(for wish: UInt64) -> Int { counts[wish] ?? 0 }

  func holder(of wish: UInt64) -> DeskClaim? { holders[wish] }

  func line(for wish: UInt64) -> [DeskClaim] { lines[wish] ?? [] }

  func isFree(_ wish: UInt64) -> Bool { holders[wish] == nil && line(for: wish).isEmpty }

  /// Says whether it is granted; if not, it waits, in an earlier turn behind those of the same.
  mutating func place(_ claim: DeskClaim, inTurn turn: Turn?) -> Bool {
    lastPlace += 1
    claim.place = turn?.place ?? lastPlace
    if isFree(claim.wish) {
      holders[claim.wish] = claim
      claim.turn = Turn(place: lastPlace, waits: waits(for: claim.wish))
      return true
    }
    var line = line(for: claim.wish)
    line.insert(claim, at: line.firstIndex { $0.place > claim.place } ?? line.count)
    lines[claim.wish] = line
    counts[claim.wish, default: 0] += 1
    return false
  }

  /// Gives those who come before a claim that waits, and have a lower one, its priority.
  mutating func raiseThoseBefore(_ claim: DeskClaim) -> [DeskClaim] {
    let line = line(for: claim.wish)
    let others = (holders[claim.wish].map { [$0] } ?? []) + line.prefix { $0 !== claim }
    let raised = others.filter { $0 !== claim && $0.priority < claim.priority }
    for other in raised { other.priority = claim.priority }
    return raised
  }

  /// What a claim holds is another's now, before all who wait for it.
  mutating func passOn(_ claim: DeskClaim, to other: DeskClaim) {
    holders[claim.wish] = other
    other.turn = claim.turn
    other.priority = max(other.priority, claim.priority)
  }

  /// A claim is withdrawn, or what it holds is given back. Returns who holds that now, if that is somebody else who has waited.
  mutating func end(_ claim: DeskClaim) -> DeskClaim? {
    lines[claim.wish]?.removeAll { $0 === claim }
    guard holders[claim.wish] === claim else { return nil }
    let next = line(for: claim.wish).first
    holders[claim.wish] = next
    if next != nil { lines[claim.wish]?.removeFirst() }
    return next
  }
}
