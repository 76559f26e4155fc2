@testable import ProcedureKit

/// How runs follow one that holds what they want, and what becomes of them when it ends: what `QueueState` and
/// `QueueCore.exchange` do.
extension QueueScript {
  /// What has to come to pass often enough for these scripts to say something.
  enum Way: String, CaseIterable {
    case follows, followsFromInbox, followsOutOfLine
    case succeedsFollowing, succeedsArriving, isPassedOnInLine, isPassedOnBeforeArrivals, isNotPassedOn
    case claimsInTurn, isPutOff, isOvertaken
    case leaderLends, leaderPauses, leaderGivesWay, leaderIsSuspended, leaderIsCancelledBeforeBody
    case followerIsCancelled, followerIsRaised, widthChangesMeanwhile, shutDownMeanwhile, resumedMeanwhile
    case lingersBesideStarting, lingersAlone
  }

  /// What a run is known by that it wants alone; 0 if others have come to wait for that elsewhere.
  func wishToFollow(_ member: ScriptMember) -> UInt64 {
    machine.followedWish == member.wish && desk.waits(for: member.wish) != leadersTurn.waits ? 0 : member.wish
  }

  /// A run holds all that it wants, and executes, or stands in line for that.
  func leadStarts(_ member: ScriptMember) {
    guard member.wish != 0, let turn = member.deskClaim?.turn, desk.waits(for: member.wish) == turn.waits, member.isBare
    else { return }
    let (index, wish, hadFollowers) = (member.index, member.wish, machine.firstFollower != nil)
    let leads = call("\(index) may be followed, wish: \(wish)") { machine, _ in
      machine.leadStarted(index, wish: wish)
    } follow: {
      $0.leadStarted(index, wish: wish, answer: $1, machine)
    }
    if leads { leadersTurn = turn }
    if !hadFollowers, machine.firstFollower != nil { note(.followsOutOfLine) }
  }

  private var followersAreToStandInLine: Bool { machine.isSuspended || machine.followersAreOvertaken }

  /// A run is about to leave that others follow, and its worker does not go straight on with the first of them. Says whether that
  /// one stands in line with what the run held.
  func leadPassedOn(by member: ScriptMember) -> Bool {
    guard !followersAreToStandInLine, let index = machine.firstFollower, let next = occupant(of: index),
      passOn(member, to: next) != nil
    else { return false }
    note(.isPassedOnInLine)
    call("\(index) is passed on what \(member.index) held") { machine, _ in
      machine.leadPassedOn(to: index)
    } follow: { model, _ in
      model.leadPassedOn(to: index)
    }
    return true
  }

  /// A run is about to leave, passes nothing on, and all who follow it have been admitted.
  func leadEnds() {
    let isPutOff = followersAreToStandInLine
    if machine.followersAreOvertaken { note(.isOvertaken) }
    endFollowing()
    claimForFollowers(puttingOff: isPutOff)
  }

  func endFollowing() {
    call("nobody is followed") { machine, _ in
      machine.followingEnded()
    } follow: { model, _ in
      model.leader = nil
    }
  }

  /// Claims what those want who have followed, in the turn of the leader; or leaves that for later.
  func claimForFollowers(puttingOff isPutOff: Bool) {
    while true {
      let next = call("next to claim") { machine, _ in
        machine.nextToClaim()
      } follow: {
        $0.nextToClaim($1)
      }
      guard let index = next, let member = occupant(of: index) else { return }
      note(isPutOff ? .isPutOff : .claimsInTurn)
      if isPutOff {
        call("\(index) claim put off") { machine, _ in
          machine.claimPutOff(index, wish: member.wish)
        } follow: { model, _ in
          model.claimPutOff(index)
        }
      } else if claimsWish(member, inTurn: leadersTurn) {
        holdsAtOnce(member)
      }
    }
  }

  /// A run passes on what it holds. Returns the priority of the other, or `nil` if something was claimed inside of its own.
  private func passOn(_ member: ScriptMember, to next: ScriptMember) -> UInt8? {
    guard let claim = member.deskClaim, !random.chance(percent: 15) else {
      note(.isNotPassedOn)
      return nil
    }
    let other = DeskClaim(member.wish, for: next, priority: next.ownPriority, arrival: next.arrival)
    if desk.holder(of: member.wish) !== claim { model.object("R1: \(member.index) passes on what it does not hold") }
    if next.wish != member.wish { model.object("\(next.index) is passed on what it does not want") }
    if desk.line(for: member.wish).contains(where: { $0.arrival < next.arrival }) {
      model.object("R3: one is passed on what another waits for that came before it")
    }
    desk.passOn(claim, to: other)
    (member.deskClaim, member.claim) = (nil, nil)
    (next.deskClaim, next.claim) = (other, .held)
    if next.index >= 0 { raiseOnce(next, to: other.priority) }
    return other.priority
  }

  // MARK: Straight on

  /// Says whether a worker goes straight on with the first who follows; if not, the run has not left.
  func succeedByFollower(_ member: ScriptMember, for worker: ScriptWorker) -> Bool {
    let index = member.index
    guard machine.mayBeFollowed(index) else { return false }
    guard let nextIndex = machine.firstFollower else { return succeedByFollowingArrival(member, for: worker) }
    // Now and then somebody watches the next, and has to be told.
    guard let next = occupant(of: nextIndex), !random.chance(percent: 10), passOn(member, to: next) != nil else {
      return false
    }
    note(.succeedsFollowing)
    call("\(index) succeeded by \(nextIndex), which follows it") { machine, _ in
      machine.succeededByFollower(index, nextIndex)
    } follow: { model, _ in
      model.succeededByFollower(index, nextIndex)
    }
    forget(member)
    proceed(worker, with: next)
    return true
  }

  private func succeedByFollowingArrival(_ member: ScriptMember, for worker: ScriptWorker) -> Bool {
    guard let next = takeArrival() else { return false }
    guard let priority = passOn(member, to: next) else {
      admit(arrival: next)
      return false
    }
    let index = member.index
    note(.succeedsArriving)
    call("\(index) succeeded by what comes, and held what it wants") { machine, _ in
      machine.succeededByArrival(index, priority: priority, holdsResources: true)
    } follow: { model, _ in
      model.succeededByFollowingArrival(
        index, priority: priority, order: machine.members[Int(index)].order, wish: next.wish)
    }
    forget(member)
    seat(next, at: index)
    proceed(worker, with: next)
    return true
  }

  func proceed(_ worker: ScriptWorker, with next: ScriptMember) {
    (worker.member, next.worker) = (next, worker)
    next.startBody()
  }
}
