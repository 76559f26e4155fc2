@testable import ProcedureKit

/// The steps: each is one critical section of a driver, or a few that the driver enters without anything in between that could matter.
extension QueueWorld {
  func perform(_ step: UInt16) {
    wasSuspended = machine.isSuspended
    var next = QueueMachine.Next()
    if step >= Self.admission(of: 0) {
      admit(Int(step - Self.admission(of: 0)), parent: -1, &next)
    } else if let action = Action(rawValue: step >> 2) {
      let index = Int(step & 3)
      switch action {
      case .endPause, .request, .deliverGrant, .claimLate, .evaluate, .satisfyConditions: approach(action, index, &next)
      case .start, .endBody, .endAtOnce, .pause, .startWait, .endWait, .giveUpSlot, .nest: execute(action, index, &next)
      case .decide, .release, .publish, .notify, .cancel: end(action, index, &next)
      default: control(action, index, &next)
      }
    }
    deliver(&next)
    checkChange()
  }

  /// Starts a worker and delivers the effects on other runs, as `QueueCore.send` does.
  private func deliver(_ next: inout QueueMachine.Next) {
    if machine.completeEvent(&next), fault != .workerNotStarted {
      startingWorkers += fault == .twoWorkersStarted ? 2 : 1
    }
    if !next.steps.isEmpty {
      if fault == .stepLost { next.steps.removeLast() }
      for (member, step) in next.steps { if let index = index(of: member) { follow(step, index) } }
    }
    if !next.returned.isEmpty, fault != .returnLost {
      for member in next.returned { if let index = index(of: member) { runs[index].task = .body } }
    }
    if let member = next.execute, let index = index(of: member) { follow(.start, index) }
  }

  /// Lets the driver of a run take a step.
  private func follow(_ step: RunStep, _ index: Int) {
    switch step {
    case .stale: break
    case .wait: runs[index].task = .rest
    case .evaluate: runs[index].task = .evaluate
    case .pause: runs[index].task = .timer
    case .claim: runs[index].task = .request
    case .releaseClaim:
      runs[index].task = .rest
      releaseClaim(index)
    case .start:
      if runs[index].task == .start || runs[index].task == .body { fail(.dependencies, "run \(index) starts twice") }
      runs[index].task = .start
    case .finish: runs[index].task = .decide
    }
  }

  // MARK: Admission

  private func admit(_ kindNumber: Int, parent: Int, _ next: inout QueueMachine.Next) {
    let (kind, index) = (bounds.kinds[kindNumber], admitted)
    var run = ModelRun()
    (run.kind, run.kindNumber, run.parent) = (kind, UInt8(kindNumber), Int8(parent))
    (run.waitsLeft, run.pausesLeft, run.nestsLeft) = (kind.waits, kind.pauses, kind.nests && parent < 0)
    var new = QueueMachine.Member(priority: kind.priority, isDrivenByWorker: kind.isDrivenByWorker, takesRoom: true)
    if kind.resources != 0 { new.prerequisites.insert(.claim) }
    if kind.hasConditions { new.prerequisites.insert(.conditions) }
    if kind.hasDelay { new.prerequisites.insert(.delay) }
    if fault == .newestFirst { new.order = 100 - UInt64(index) }
    if parent >= 0 {
      let enclosing = machine[runs[parent].member]
      (new.order, new.isNested, new.takesRoom, new.isDrivenByWorker) = (enclosing.order, true, false, false)
      new.priority = max(kind.priority, enclosing.priority)
      new.prerequisites.formIntersection(.claim)
      (run.pausesLeft, run.waitsLeft) = (false, false)
      runs[parent].child = Int8(index)
    } else if kind.dependsOnPrevious, let other = latestRun(before: index) {
      if fault != .dependencyIgnored { new.prerequisites.insert(.dependencies) }
      if runs[other].task == .over {
        run.notice = runs[other].hasSucceeded ? .succeeded : .failed
      } else {
        run.dependency = Int8(other)
      }
    }
    let usesKey = machine.fairQueue.isUsed && fault != .keyIgnored
    let weight = Int(kind.weight) + (fault == .weightTooLarge ? 1 : 0)
    admitted += 1
    let (member, step) = machine.admitted(new, key: usesKey ? (Self.id(ofKey: kind.key), weight) : nil, &next)
    (run.member, run.priority) = (member, new.priority)
    runs[index] = run
    follow(step, index)
    if runs[index].dependency >= 0, new.priority > RunKind.ordinary {
      raise(Int(runs[index].dependency), to: new.priority)
    }
  }

  /// Returns the latest run that was admitted before another one and that is not inside a body.
  func latestRun(before index: Int) -> Int? {
    var other = index - 1
    while other >= 0, runs[other].parent >= 0 { other -= 1 }
    return other < 0 ? nil : other
  }

  // MARK: Before the body

  private func approach(_ action: Action, _ index: Int, _ next: inout QueueMachine.Next) {
    let member = runs[index].member
    switch action {
    case .evaluate: runs[index].task = machine.evaluationStarts(member) ? .evaluating : .rest
    case .satisfyConditions: follow(machine.conditionsSatisfied(member, &next), index)
    case .endPause: follow(machine.pauseEnded(member, &next), index)
    case .request:
      runs[index].task = .rest
      request(index)
    case .deliverGrant:
      runs[index].hasGrant = false
      let step = machine.claimGranted(member, &next)
      follow(fault == .lateGrantStarts && step == .stale ? .start : step, index)
    default:
      // The run was cancelled while its driver was about to claim. If the run has ended, nothing else releases the claim.
      runs[index].claimsLate = false
      request(index)
      if runs[index].isDecided { releaseClaim(index) }
    }
  }

  private func request(_ index: Int) {
    let kind = runs[index].kind
    var demands: [ClaimDemand] = []
    for resource in 0..<2 where kind.resources & 1 << resource != 0 {
      demands.append(ClaimDemand(resource: ResourceNumber(resource), units: kind.units))
    }
    let ancestors = runs[index].parent < 0 ? [] : [RunNumber(runs[index].parent)]
    let priority = runs[index].isPresent ? machine[runs[index].member].priority : RunKind.ordinary
    claimCount += 1
    runs[index].claimOrder = claimCount
    if table.requested(RunNumber(index), demands, inside: ancestors, priority: priority) {
      granted(index)
    } else {
      runs[index].claim = .waiting
      var others: [RunNumber] = []
      table.raised(RunNumber(index), to: priority, &others)
      for other in others { raise(Int(other), to: priority) }
      guard fault == .claimOvertakes else { return }
      table.overtook(RunNumber(index), Set(0..<4), &others)
      for other in others { granted(Int(other)) }
    }
  }

  private func granted(_ index: Int) {
    // Only the holder of the units itself encloses a run that claims them as well.
    var other = 0
    while other < admitted {
      if runs[other].claim == .waiting, other != index, runs[other].claimOrder < runs[index].claimOrder,
        runs[other].kind.resources & runs[index].kind.resources != 0, Int(runs[index].parent) != other,
        runs[index].parent < 0
      {
        fail(.requests, "the claim of run \(index) was granted before that of run \(other)")
      }
      other += 1
    }
    runs[index].claim = .granted
    if fault != .grantLost { runs[index].hasGrant = true }
  }

  /// Releases or withdraws the claim of a run, if it has one. Returns the runs whose claims are granted as a result.
  @discardableResult
  func releaseClaim(_ index: Int) -> [RunNumber] {
    guard runs[index].claim != .none else { return [] }
    (runs[index].claim, runs[index].hasGrant) = (.none, false)
    var (others, vacated): ([RunNumber], [ResourceNumber]) = ([], [])
    table.ended(RunNumber(index), &others, vacated: &vacated)
    for other in others { granted(Int(other)) }
    return others
  }

  // MARK: The body

  private func execute(_ action: Action, _ index: Int, _ next: inout QueueMachine.Next) {
    let member = runs[index].member
    switch action {
    case .start:
      if runs[index].isCancelled, fault != .cancelledRunStarts {
        runs[index].task = .decide
      } else {
        machine.bodyStarted(member)
        (runs[index].task, runs[index].hasStarted) = (.body, true)
        if fault == .claimReleasedAtStart { releaseClaim(index) }
      }
    case .endBody: decide(index, &next)
    case .endAtOnce: endAtOnce(index, &next)
    case .pause:
      runs[index].pausesLeft = false
      releaseClaim(index)
      let claims = runs[index].kind.resources != 0 && fault != .claimForgottenInPause
      if fault != .slotKeptInPause { machine.bodyPaused(member, prerequisites: claims ? .claim : [], &next) }
      runs[index].task = .timer
      if runs[index].kind.isDrivenByWorker { askingWorkers += 1 }
    case .startWait:
      runs[index].waitsLeft = false
      if fault != .slotKeptInWait { machine.waitStarted(member, &next) }
      runs[index].task = .wait
    case .endWait:
      machine.waitEnded(member)
      // A cancelled body continues without a slot.
      let needsSlot = !runs[index].isCancelled && fault != .slotNotReacquired
      runs[index].task = !needsSlot || machine.slotNeeded(member) ? .body : .slot
    case .giveUpSlot:
      machine.returnCancelled(member)
      runs[index].task = .body
    default:
      runs[index].nestsLeft = false
      runs[index].task = .wait
      machine.waitStarted(member, &next)
      admit(Int(runs[index].kindNumber), parent: index, &next)
    }
  }

  // MARK: The end

  private func decide(_ index: Int, grantsSlot: Bool = true, _ next: inout QueueMachine.Next) {
    machine.bodyEnded(runs[index].member, grantsSlot: grantsSlot, &next)
    runs[index].isDecided = true
    runs[index].hasSucceeded = !runs[index].isCancelled
    runs[index].task = runs[index].kind.resources == 0 ? .publish : .release
  }

  /// Ends a run whose outcome depends only on its body, and gives its worker the next run, as `QueueCore.finishInline` does.
  private func endAtOnce(_ index: Int, _ next: inout QueueMachine.Next) {
    runs[index].isDecided = true
    let others = releaseClaim(index)
    decide(index, grantsSlot: false, &next)
    publish(index)
    for other in others where runs[Int(other)].hasGrant { approach(.deliverGrant, Int(other), &next) }
    guard runs[index].kind.isDrivenByWorker else { return machine.grantSlots(&next) }
    askingWorkers -= 1
    machine.workerAsked(isStarting: false, &next)
  }

  private func publish(_ index: Int) {
    let run = runs[index]
    machine.finished(run.member)
    // The task of a worker may have been cancelled with its run, so the worker ends.
    if run.kind.isDrivenByWorker, run.parent < 0, run.hasStarted, !run.isCancelled { askingWorkers += 1 }
    (runs[index].member, runs[index].task) = (-1, .over)
    if run.parent >= 0 { runs[Int(run.parent)].child = -1 }
    guard fault != .dependentForgotten || run.hasSucceeded else { return }
    var other = 0
    while other < admitted {
      if Int(runs[other].dependency) == index {
        runs[other].dependency = -1
        runs[other].notice = run.hasSucceeded || fault == .failureIsSuccess ? .succeeded : .failed
      }
      other += 1
    }
  }

  private func end(_ action: Action, _ index: Int, _ next: inout QueueMachine.Next) {
    switch action {
    case .decide: decide(index, &next)
    case .release:
      if fault != .claimNotReleased { releaseClaim(index) }
      runs[index].task = .publish
    case .publish: publish(index)
    case .notify:
      let notice = runs[index].notice
      runs[index].notice = .none
      if notice == .failed { return cancel(index) }
      follow(machine.dependenciesSucceeded(runs[index].member, &next), index)
    default:
      cancellations -= 1
      cancel(index)
    }
  }

  /// Cancels a run, and the run that its body executes. Before its start, the run ends at once.
  private func cancel(_ index: Int) {
    guard runs[index].isPresent, !runs[index].isCancelled, !runs[index].isDecided else { return }
    runs[index].isCancelled = true
    let member = runs[index].member
    if fault == .cancelledRunStaysInLine, machine.ready.contains(member) {
      runs[index].task = .decide
    } else if machine.interrupted(member) {
      if runs[index].task == .request { runs[index].claimsLate = true }
      runs[index].task = .decide
      checkLateEvents(of: index)
    }
    if runs[index].child >= 0 { cancel(Int(runs[index].child)) }
  }

  // MARK: The queue

  private func control(_ action: Action, _ index: Int, _ next: inout QueueMachine.Next) {
    switch action {
    case .suspend:
      suspensions -= 1
      for member in machine.suspended() where fault != .claimsKeptBySuspension {
        if let index = self.index(of: member) { releaseClaim(index) }
      }
    case .resume: machine.resumed(&next)
    case .changeWidth:
      widthChanges -= 1
      machine.widthChanged(to: machine.width == 1 ? bounds.width : 1, &next)
    case .raise:
      raises -= 1
      raise(index, to: RunKind.urgent)
    case .passInterval:
      intervals -= 1
      let isSuspended = machine.isSuspended
      if !isSuspended { unsuspendedTime += 1 }
      if isSuspended, fault == .ageingDuringSuspension { machine.resumed(&next) }
      machine.timePassed(to: machine.now + 1)
      if isSuspended, fault == .ageingDuringSuspension { _ = machine.suspended() }
    case .addDependency:
      guard let other = possibleDependency(of: index) else { return }
      addedDependencies -= 1
      runs[index].dependency = Int8(other)
      if machine.dependencyAdded(runs[index].member) == .releaseClaim { releaseClaim(index) }
      raise(other, to: machine[runs[index].member].priority)
    case .askStarting:
      startingWorkers -= 1
      ask(isStarting: true, &next)
    default:
      askingWorkers -= 1
      ask(isStarting: false, &next)
    }
  }

  private func ask(isStarting: Bool, _ next: inout QueueMachine.Next) {
    guard fault == .suspensionIgnored, machine.isSuspended else {
      return machine.workerAsked(isStarting: isStarting, &next)
    }
    machine.resumed(&next)
    machine.workerAsked(isStarting: isStarting, &next)
    _ = machine.suspended()
  }

  /// Raises the priority of a run, and of the runs that it waits for, as `QueueCore.raise` does.
  private func raise(_ index: Int, to priority: UInt8) {
    guard runs[index].isPresent, priority > runs[index].priority else { return }
    runs[index].priority = priority
    if fault != .priorityNotApplied { _ = machine.raised(runs[index].member, to: priority) }
    if machine[runs[index].member].phase == .claiming {
      var others: [RunNumber] = []
      table.raised(RunNumber(index), to: priority, &others)
      for other in others { raise(Int(other), to: priority) }
    }
    if runs[index].dependency >= 0 { raise(Int(runs[index].dependency), to: priority) }
    if runs[index].child >= 0 { raise(Int(runs[index].child), to: priority) }
  }
}
