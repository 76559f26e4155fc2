@testable import ProcedureKit

/// What the queue's workers do, and what is done to the queue as a whole.
extension QueueScript {
  func startWorker() {
    orderedWorkers -= 1
    let worker = ScriptWorker()
    workers.append(worker)
    visit(admitsArrivals: false) { ask(worker, isNew: true) }
  }

  func carryOut(_ work: QueueMachine.Work, by worker: ScriptWorker) {
    worker.member = nil
    switch work {
    case .claim(let index):
      guard let member = members.first(where: { $0.index == index }) else { return }
      claimResources(for: member, by: worker)
    case .evaluate(let index), .execute(let index), .conclude(let index):
      guard let member = members.first(where: { $0.index == index }) else { return }
      worker.member = member
      member.worker = worker
      if case .evaluate = work {
        member.phase = .evaluating
        return
      }
      member.startBody()
      leadStarts(member)
    case .end: workers.removeAll { $0 === worker }
    }
  }

  /// A worker that has found nothing to do stays, unless another does, or asks once more.
  private func linger(_ worker: ScriptWorker) {
    worker.isIdle = false
    worker.lingers = call("a worker lingers") { machine, _ in
      machine.lingeringStarted()
    } follow: {
      $0.lingeringStarted(answer: $1)
    }
    guard worker.lingers else { return ask(worker, isNew: false) }
    note(machine.workerIsStarting ? .lingersBesideStarting : .lingersAlone)
  }

  /// A worker that evaluates comes to a verdict. One that executes goes on with the body.
  func advance(_ worker: ScriptWorker) {
    guard let member = worker.member else {
      return visit(admitsArrivals: false) { if worker.isIdle { linger(worker) } else { askOrEnd(worker) } }
    }
    guard member.phase != .executing else { return }
    visit {
      member.worker = nil
      if member.phase == .evaluating {
        member.phase = .inLine
        _ = settleConditions(of: member)
      }
      askOrEnd(worker)
    }
  }

  func askOrEnd(_ worker: ScriptWorker) {
    if worker.isPaused { model.pausedWorkers -= 1 }
    worker.isPaused = false
    guard worker.isSpent else {
      return ask(worker, isNew: false, mayStay: !worker.lingers && random.chance(percent: 50))
    }
    settle()
    carryOut(.end, by: worker)
  }

  // MARK: The queue as a whole

  func cancelSomebody() {
    let runs = members.filter { $0.kind != .helper }
    guard !runs.isEmpty else { return }
    let member = random.pick(from: runs)
    member.isCancelled = true
    visit { cancel(member) }
  }

  func cancel(_ member: ScriptMember) {
    let index = member.index
    if machine.follows(index) { note(.followerIsCancelled) }
    if machine.leads(index), machine.isInLine(index) { noteIfFollowed(.leaderIsCancelledBeforeBody) }
    call("\(index) cancel requested") {
      $0.cancelRequested(index, &$1)
    } follow: { model, _ in
      model.cancelRequested(index)
    }
  }

  func configure() {
    switch random.below(16) {
    case 0..<4:
      visit {
        if machine.leader.map(machine.isInLine) ?? false { noteIfFollowed(.leaderIsSuspended) }
        call("suspended") { machine, actions in
          machine.suspended(&actions)
        } follow: { model, _ in
          model.suspended()
        }
      }
    case 4..<12:
      visit {
        if machine.isSuspended { noteIfFollowed(.resumedMeanwhile) }
        call("resumed") {
          $0.resumed(&$1)
        } follow: { model, _ in
          model.resumed()
        }
      }
    case 12 where random.chance(percent: excludes ? 60 : 30): shutDown()
    default: changeWidth(to: random.pick(from: [1, 1, 2, 3, 5, .max]))
    }
  }

  /// Nothing comes any more.
  func shutDown() {
    visit {
      closeInbox()
      noteIfFollowed(.shutDownMeanwhile)
      call("shut down") { machine, _ in
        machine.shutDown()
      } follow: { model, _ in
        model.isShutDown = true
      }
    }
  }

  func changeWidth(to width: Int) {
    visit {
      noteIfFollowed(.widthChangesMeanwhile)
      call("width changed to \(width)") {
        $0.widthChanged(to: width, &$1)
      } follow: { model, _ in
        model.width = width
      }
    }
  }
}
