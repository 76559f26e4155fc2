/// Internal. Runs that exclude each other, one after another.
extension QueueMachine {
  /// Those who want alone just what one holds, and have come when nobody else waited for that: they need not claim it, nor does
  /// a worker have to look after them, since what that one holds is passed on to them, one after another.
  ///
  /// They follow it as long as nothing else happens to it but that its body ends, or never starts. Otherwise they claim what they
  /// want, in the turns in which they have come; or stand in line for that, where the queue is suspended or others come first.
  struct Following {
    /// Whom they follow: one that holds, and has a slot or stands in line for one. -1 for nobody.
    var leader: Int32 = -1
    /// What it is known by that the leader holds alone.
    var wish: UInt64 = 0
    /// That of all who come to follow.
    var priority: UInt8 = 0
    var line = ReadyList()
  }

  /// What those may want who come behind the leader, if there is one and nobody else stands in line; 0 otherwise.
  var followedWish: UInt64 {
    guard following.leader >= 0, !isShutDown, !isSuspended else { return 0 }
    return ready.isEmpty || (ready.count == 1 && ready.contains(following.leader)) ? following.wish : 0
  }

  /// The priority of those who may come behind the leader.
  var followedPriority: UInt8 { following.priority }

  func mayFollow(_ wish: UInt64, _ priority: UInt8) -> Bool {
    followedWish == wish && followedPriority == priority
  }

  /// Whether others may follow this member.
  func leads(_ index: Int32) -> Bool { following.leader == index }

  /// Whether a member stands behind the leader.
  func follows(_ index: Int32) -> Bool { following.line.contains(index) }

  /// The leader, if there is one.
  var leader: Int32? { following.leader < 0 ? nil : following.leader }

  /// The first who follows, if any.
  var firstFollower: Int32? { following.line.first }

  /// A member holds what it wants alone, and nobody has come meanwhile who waits for that elsewhere: others may follow it, unless
  /// another is followed. Those who stand in line do, if all of them may.
  ///
  /// - Returns: Whether others may follow it.
  mutating func leadStarted(_ index: Int32, wish: UInt64) -> Bool {
    guard following.leader < 0 || following.leader == index, !isSuspended else { return false }
    if following.leader < 0 { following.priority = members[Int(index)].priority }
    (following.leader, following.wish) = (index, wish)
    // Not where it stands in line itself, among those who would follow.
    guard lineWish == wish, !ready.contains(index), ready.isOfOnePriority(following.priority) else { return true }
    if following.line.isEmpty { swap(&ready, &following.line) }
    while let next = ready.popFirst() {
      following.line.insert(next, priority: members[Int(next)].priority, order: members[Int(next)].order)
    }
    return true
  }

  /// The leader holds no more what it held, or may not be able to end before those who follow.
  mutating func followingEnded(_ actions: inout [Action]) {
    following.leader = -1
    if !following.line.isEmpty { actions.append(.claimForFollowers) }
  }

  /// The leader is about to leave, and passes nothing on: if anybody follows, `nextToClaim` has to come until there is none.
  mutating func followingEnded() { following.leader = -1 }

  /// The next of those who followed, to claim what it wants, as a member without a slot that came with `claimsAtOnce`; or to put
  /// that off, on a suspended queue or where others come first.
  mutating func nextToClaim() -> Int32? { following.line.popFirst() }

  /// Whether somebody stands in line before all who follow, and there is no slot for both: so that those who follow, and would
  /// have the leader's slot one after another, have to stand in line.
  @inline(__always)
  var followersAreOvertaken: Bool {
    guard !slots.hasFree, let first = following.line.first else { return false }
    return ready.hasMember(before: members[Int(first)].priority, members[Int(first)].order)
  }

  /// What the leader held has been passed on to the first who follows it: that one stands in line before all others, and leads.
  mutating func leadPassedOn(to next: Int32) {
    following.line.remove(next)
    following.leader = next
    members[Int(next)].resources = .held
    enterLine(next, wish: following.wish)
  }

  /// Whether the first who follows a member can be executed as soon as that has ended.
  func mayBeFollowed(_ index: Int32) -> Bool { leads(index) && ready.isEmpty && mayBeSucceeded(index) }

  /// A worker has executed the leader's body and goes on with that of the first who follows, which has taken over what that held.
  mutating func succeededByFollower(_ index: Int32, _ next: Int32) {
    finished(index)
    runs -= 1
    following.line.remove(next)
    following.leader = next
    members[Int(next)].resources = .held
    members[Int(next)].holdsSlot = true
    _ = execute(next)
    vacate(index)
  }
}
