@testable import ProcedureKit

/// What bodies do: await other runs on the queue, run graphs, wait for idle, and give way between their pieces.
extension QueueScript {
  func advanceBody(of member: ScriptMember) {
    if isDraining {
      for part in member.parts { finish(part) }
    } else if random.chance(percent: 2) {
      // Its tasks go on, unstructured, and the body does not wait for them.
      return endBody(of: member)
    } else {
      advance(random.pick(from: member.parts))
    }
    if member.phase == .executing, member.parts.allSatisfy({ $0.state == .over }) { endBody(of: member) }
  }

  private func advance(_ part: ScriptPart) {
    let member = part.member
    switch part.state {
    case .running: startSomething(part)
    case .runsGraph where part.helpers < 3 && members.count < 12 && random.chance(percent: 50): claimSlot(for: part)
    case .awaitsTurn where member.isUnderCancellation: part.state = .running
    case .awaitsTurn where !part.isPausing && random.chance(percent: 20): stop(part)
    case .runsGraph, .awaitsOther, .awaitsReturn, .awaitsTurn, .pauses: finish(part)
    case .awaitsChild, .awaitsIdle, .over: break
    }
  }

  private func startSomething(_ part: ScriptPart) {
    let member = part.member
    switch random.below(excludes ? 48 : 12) {
    case 0..<2 where members.count < 12: admitStructured(from: part)
    case 2..<4 where members.count < 12:
      // In this order, so that the graph's worker stands in line before the slot is lent that it is to have.
      claimSlot(for: part)
      visit { startLoan(part, .runsGraph) }
    case 4: visit { startLoan(part, .awaitsOther) }
    case 5: waitForIdle(part)
    case 6, 7, 8, 12..<24: startPiece(part)
    case 10 where member.kind != .helper: startPause(part)
    case 9 where member.parts.count < 3: member.parts.append(ScriptPart(of: member))
    default:
      part.state = .over
      if random.chance(percent: 20) { endCopy(part) }
    }
  }

  /// Brings a part to its end, as far as that is its own affair.
  private func finish(_ part: ScriptPart) {
    switch part.state {
    case .running: part.state = .over
    case .runsGraph: if part.helpers == 0 { visit { endLoan(part) } }
    case .awaitsOther: visit { endLoan(part) }
    case .pauses:
      endPause(part)
      if part.state == .running { finishPause(part) }
    case .awaitsReturn, .awaitsTurn:
      guard looks(part) else { break }
      part.state = .running
      if part.isPausing { finishPause(part) }
    case .awaitsChild, .awaitsIdle, .over: break
    }
  }

  private func endBody(of member: ScriptMember) {
    guard member.kind != .helper else { return withdraw(member) }
    let index = member.index
    // Its task is found to be cancelled.
    if member.kind == .structured, random.chance(percent: 10) { visit { cancel(member) } }
    visit(admitsArrivals: member.worker == nil) {
      if let worker = member.worker, random.chance(percent: excludes ? 80 : 50), exchange(member, for: worker) {
        return
      }
      call("\(index) body ended") { machine, _ in
        machine.bodyEnded(index)
      } follow: { model, _ in
        model.bodyEnded(index)
      }
      guard let worker = member.worker else { return leave(member) }
      unseat(member)
      worker.member = nil
      // Now and then a worker lets other tasks have the thread before it asks for more.
      if !worker.isSpent, random.chance(percent: 10) { settle() } else { askOrEnd(worker) }
    }
  }

  // MARK: Loans

  func startLoan(_ part: ScriptPart, _ state: ScriptPart.State) {
    let index = part.member.index
    part.state = state
    if machine.leads(index) { noteIfFollowed(.leaderLends) }
    call("\(index) loan started, \(state)") {
      $0.loanStarted(index, &$1)
    } follow: { model, _ in
      model.loanStarted(index)
    }
  }

  func endLoan(_ part: ScriptPart) {
    let index = part.member.index
    guard index >= 0 else { return }
    part.state = .running
    let mayGoOn = call("\(index) loan ended") {
      $0.loanEnded(index, &$1)
    } follow: {
      $0.loanEnded(index, answer: $1)
    }
    if !mayGoOn { wait(part, .awaitsReturn) }
  }

  private func startPiece(_ part: ScriptPart) {
    let index = part.member.index
    visit {
      let hasFollowers = machine.leads(index) && machine.firstFollower != nil
      let mayGoOn = call("\(index) piece started") {
        $0.pieceStarted(index, &$1)
      } follow: {
        $0.pieceStarted(index, answer: $1)
      }
      if hasFollowers, machine.leader == nil { note(.leaderGivesWay) }
      if !mayGoOn { wait(part, .awaitsTurn) }
    }
  }

  /// It is stopped while it stands in line, and the body goes on with something else.
  private func stop(_ part: ScriptPart) {
    let index = part.member.index
    part.state = .running
    visit {
      let mayGoOn = call("\(index) part stopped") {
        $0.partStopped(index, &$1)
      } follow: {
        $0.partStopped(index, answer: $1)
      }
      if !mayGoOn { wait(part, .awaitsReturn) }
    }
  }

  /// Another one goes on in its place, if there is one.
  private func endCopy(_ part: ScriptPart) {
    let index = part.member.index
    guard part.member.parts.contains(where: { $0.state != .over }) else { return }
    visit {
      call("\(index) copy ended") {
        $0.copyEnded(index, &$1)
      } follow: { model, _ in
        model.copyEnded(index)
      }
    }
  }

  /// The task looks before it waits, and so much may happen before.
  private func wait(_ part: ScriptPart, _ state: ScriptPart.State) {
    part.state = state
    part.isAwake = true
  }

  // MARK: Graphs

  private func claimSlot(for part: ScriptPart) {
    let helper = newcomer(.helper, from: part)
    part.helpers += 1
    visit { admit(helper, inheriting: part.member) }
    if model[helper.index].holdsSlot { helper.startBody() }
  }

  /// A graph's worker ends, or is not needed any more.
  func withdraw(_ helper: ScriptMember) {
    helper.lender?.helpers -= 1
    visit {
      unseat(helper)
      settle()
    }
  }

  // MARK: Idle

  private func waitForIdle(_ part: ScriptPart) {
    visit { startLoan(part, .awaitsIdle) }
    let wait = ScriptIdleWait(part)
    idleWaits.append(wait)
    visit {
      for run in wait.runs where run.index >= 0 {
        call("\(run.index) idle wait started") { machine, _ in
          machine.idleWaitStarted(run.index)
        } follow: { model, _ in
          model.idleWaitStarted(run.index)
        }
      }
    }
  }

  func advance(_ wait: ScriptIdleWait) {
    guard wait.isOver else { return }
    idleWaits.removeAll { $0 === wait }
    visit {
      for run in wait.runs where run.index >= 0 {
        call("\(run.index) idle wait ended") { machine, _ in
          machine.idleWaitEnded(run.index)
        } follow: { model, _ in
          model.idleWaitEnded(run.index)
        }
      }
    }
    visit { endLoan(wait.part) }
  }
}
