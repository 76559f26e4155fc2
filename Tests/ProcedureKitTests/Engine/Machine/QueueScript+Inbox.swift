@testable import ProcedureKit

/// How runs come without a visit that follow somebody: what `Inbox` and the visits of `QueueCore` do.
extension QueueScript {
  /// Which runs are let in.
  struct InboxTerms {
    let wish: UInt64
    let priority: UInt8
    let waits: Int
  }

  /// Says whether a run comes by the inbox. It may not see yet that this is open.
  func comesByInbox(_ member: ScriptMember) -> Bool {
    guard let terms = inboxTerms, terms.wish == member.wish, terms.priority == member.ownPriority,
      terms.waits == desk.waits(for: member.wish), random.chance(percent: 60)
    else { return false }
    inbox.append(member)
    return true
  }

  func takeArrival() -> ScriptMember? {
    inboxTerms == nil || inbox.isEmpty ? nil : inbox.removeFirst()
  }

  func admitArrivals() {
    while let member = takeArrival() { admit(arrival: member) }
  }

  /// Has the first of those who follow somebody be known, if anybody does.
  func admitFirstFollower() {
    if machine.firstFollower == nil, let next = takeArrival() { admit(arrival: next) }
  }

  func admit(arrival member: ScriptMember) {
    if !addAtOnce(member, wish: member.wish, claimsAtOnce: false) { model.object("what had come was not admitted") }
    if member.index >= 0, machine.follows(member.index) { note(.followsFromInbox) }
  }

  func closeInbox() {
    admitArrivals()
    inboxTerms = nil
  }

  /// At the end of each visit.
  func seeToInbox() {
    guard inboxTerms?.wish ?? 0 != machine.followedWish else { return }
    closeInbox()
    guard machine.followedWish != 0 else { return }
    inboxTerms = InboxTerms(
      wish: machine.followedWish, priority: machine.followedPriority, waits: leadersTurn.waits)
  }
}
