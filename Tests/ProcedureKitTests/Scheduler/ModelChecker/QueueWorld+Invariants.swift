@testable import ProcedureKit

/// The invariants of ``Invariant`` in the terms of the queue.
extension QueueWorld {
  // MARK: In each state

  func check() {
    var (present, outer, waiting, holders) = (0, 0, 0, 0)
    var keyHolders: (UInt8, UInt8) = (0, 0)
    var index = 0
    while index < admitted {
      let run = runs[index]
      if run.isPresent {
        let member = machine[run.member]
        present += 1
        if run.parent < 0 {
          outer += 1
          if member.phase.awaitsStart { waiting += 1 }
        }
        if member.slot == .held {
          holders += 1
          if run.kind.key == 1 { keyHolders.0 += 1 } else if run.kind.key == 2 { keyHolders.1 += 1 }
        }
        checkPlace(of: index, run, member)
        checkReason(of: index, run, member)
        if run.claim != .none || run.kind.resources != 0 { checkClaim(of: index, run, member) }
        if !isWaitingForSlot(member) || !run.isWaiting { runs[index].waitsSince = unsuspendedTime }
        runs[index].isWaiting = isWaitingForSlot(member)
        runs[index].seenPhase = member.phase
        runs[index].couldTakeSlot = isWaitingForSlot(member) && !machine.isKeyFull(run.member)
      } else {
        runs[index].couldTakeSlot = false
        if run.claim != .none, !run.isLeft { fail(.claims, "run \(index) has ended and has a claim") }
      }
      index += 1
    }
    var members = 0
    for member in machine.members where member.isPresent { members += 1 }
    if present != members || outer != machine.count { fail(.runs, "\(present) runs, \(members) members") }
    if waiting != machine.waitingCount { fail(.room, "\(waiting) runs wait, \(machine.waitingCount) are counted") }
    if holders != machine.slotsTaken { fail(.slots, "\(holders) runs hold \(machine.slotsTaken) slots") }
    if holders > bounds.width { fail(.slots, "\(holders) runs hold slots") }
    if Int(max(keyHolders.0, keyHolders.1)) > bounds.limitPerKey { fail(.slots, "runs of one key hold \(keyHolders)") }
    checkWork()
    if claimCount > 0 { checkUnits() }
  }

  private func isWaitingForSlot(_ member: QueueMachine.Member) -> Bool { member.phase == .ready || member.isReturning }

  private func checkPlace(of index: Int, _ run: ModelRun, _ member: QueueMachine.Member) {
    let isWaiting = isWaitingForSlot(member)
    if machine.slotWaits.ageingInterval != nil,
      machine.slotWaits.rising.contains(run.member) != (isWaiting && member.waitingPriority == RunKind.ordinary)
    {
      fail(.runs, "run \(index) can rise or not")
    }
    if !isWaiting, member.risenPriority != 0 { fail(.runs, "run \(index) does not wait, and keeps its level") }
    if machine.held.contains(run.member) != (member.phase == .held) { fail(.runs, "run \(index) is held or not") }
    if member.key >= 0 {
      if machine.fairQueue.isWaiting(run.member) != isWaiting {
        fail(.runs, "run \(index) waits behind its key or not")
      }
      if isWaiting { return }
    }
    let isInLine = machine.ready.contains(run.member)
    let isReturning = machine.returning.contains(run.member)
    if isInLine != (isWaiting && !member.isResuming) || isReturning != (isWaiting && member.isResuming) {
      fail(.runs, "run \(index) is in a wrong line")
    }
  }

  /// Checks that an event will end the phase of a run: the driver takes a step, or another run or the owner of the queue does.
  private func checkReason(of index: Int, _ run: ModelRun, _ member: QueueMachine.Member) {
    let hasReason: Bool
    switch member.phase {
    case .pending: hasReason = run.task == .rest && (run.dependency >= 0 || run.notice != .none)
    case .held: hasReason = run.task == .rest && machine.isSuspended
    case .evaluating: hasReason = run.task == .evaluate || run.task == .evaluating
    case .pausing: hasReason = run.task == .timer
    case .claiming: hasReason = run.task == .request || run.hasGrant || run.claim == .waiting && isBlocked(index)
    case .ready: hasReason = run.task == .rest && isKeptFromSlot(run.member, member)
    case .starting: hasReason = run.task == .start || run.task == .decide
    case .executing:
      hasReason =
        switch run.task {
        case .body: member.slot == .held || run.isCancelled
        case .wait: member.slot == .none
        case .slot: member.isReturning && isKeptFromSlot(run.member, member) || run.isCancelled
        default: false
        }
    case .finishing: hasReason = run.task == .decide || run.task == .release || run.task == .publish
    case .finished: hasReason = false
    }
    if !hasReason {
      fail(
        member.phase == .executing ? .slots : .reasons, "run \(index) is \(member.phase), and its driver \(run.task)")
    }
  }

  /// Returns whether a run that waits for a slot cannot have one yet.
  private func isKeptFromSlot(_ id: MemberID, _ member: QueueMachine.Member) -> Bool {
    if machine.slotsTaken >= machine.width || machine.isKeyFull(id) { return true }
    if member.isResuming { return false }
    return machine.isSuspended || startingWorkers + askingWorkers > 0
  }

  /// Returns whether another claim keeps a waiting claim from being granted.
  private func isBlocked(_ index: Int) -> Bool {
    let run = runs[index]
    var other = 0
    while other < admitted {
      let blocker = runs[other]
      if other != index, blocker.kind.resources & run.kind.resources != 0,
        blocker.claim == .granted || blocker.claim == .waiting && blocker.claimOrder < run.claimOrder
      {
        return true
      }
      other += 1
    }
    return false
  }

  private func checkClaim(of index: Int, _ run: ModelRun, _ member: QueueMachine.Member) {
    if table.isGranted(RunNumber(index)) != (run.claim == .granted)
      || table.isWaiting(RunNumber(index)) != (run.claim == .waiting)
    {
      fail(.claims, "the claim of run \(index) is not \(run.claim)")
    }
    guard run.kind.resources != 0 else { return }
    switch member.phase {
    case .ready, .starting, .executing:
      if run.claim != .granted { fail(.claims, "run \(index) is \(member.phase) without its claim") }
    case .pending, .evaluating, .pausing:
      if run.claim != .none { fail(.claims, "run \(index) is \(member.phase) and has a claim") }
    case .held: if run.claim != .none { fail(.suspension, "run \(index) is held and has a claim") }
    case .claiming, .finishing, .finished: break
    }
    if machine.isSuspended, member.phase == .ready, !member.isNested {
      fail(.suspension, "run \(index) waits on a suspended queue and holds resources")
    }
  }

  /// Compares the free units of each resource with the claims of the runs. A run inside a holder uses the units of the holder.
  private func checkUnits() {
    var resource = 0
    while resource < 2 {
      var (used, index) = (Int32(0), 0)
      while index < admitted {
        let run = runs[index]
        if run.claim == .granted, run.kind.resources & 1 << resource != 0, run.parent < 0 { used += run.kind.units }
        index += 1
      }
      if used > RunKind.capacity || table.pools[ResourceNumber(resource)].free != RunKind.capacity - used {
        fail(.claims, "\(used) units of resource \(resource) are held")
      }
      resource += 1
    }
  }

  private func checkWork() {
    if startingWorkers != (machine.isWorkerStarting ? 1 : 0) { fail(.work, "\(startingWorkers) workers are starting") }
    guard machine.slotsTaken < machine.width else { return }
    if !machine.returning.isEmpty { fail(.work, "a slot is free, and a body waits for it") }
    guard !machine.isSuspended, let first = machine.ready.first() else { return }
    // Any run that waits gets the slot when the next worker requests a run.
    if startingWorkers + askingWorkers == 0 {
      fail(.work, "a slot is free, and run \(index(of: first) ?? -1) waits for it")
    }
  }

  // MARK: After each step

  /// Checks which runs have started, or have moved to another phase, in the latest step.
  func checkChange() {
    var index = 0
    while index < admitted {
      let run = runs[index]
      if run.isPresent {
        let member = machine[run.member]
        if member.phase != run.seenPhase { checkMove(of: index, run, member) }
        if run.couldTakeSlot, member.isReturning || member.phase == .ready { checkOvertaking(of: index, run, member) }
      }
      index += 1
    }
    if bounds.takesTurns { checkTurns() }
  }

  private func checkMove(of index: Int, _ run: ModelRun, _ member: QueueMachine.Member) {
    let isForward = member.phase == .starting || member.phase == .evaluating || member.phase == .claiming
    if isForward, wasSuspended, machine.isSuspended, run.parent < 0 {
      fail(.suspension, "run \(index) is \(member.phase) on a suspended queue")
    }
    guard member.phase == .starting || member.phase == .executing else { return }
    if run.isCancelled, run.seenPhase.awaitsStart || run.seenPhase == .starting {
      fail(.cancellation, "run \(index) was cancelled and is \(member.phase)")
    }
    if run.kind.dependsOnPrevious, run.parent < 0, let other = latestRun(before: index),
      !runs[other].hasSucceeded || runs[other].task != .over
    {
      fail(.dependencies, "run \(index) starts before run \(other) has succeeded")
    }
    if run.dependency >= 0 { fail(.dependencies, "run \(index) starts before run \(run.dependency)") }
  }

  /// Checks that no run has started, in the latest step, which comes after a run that still waits for its slot.
  private func checkOvertaking(of index: Int, _ run: ModelRun, _ member: QueueMachine.Member) {
    if machine.isKeyFull(run.member) || wasSuspended && !member.isResuming { return }
    var other = 0
    while other < admitted {
      // Both runs now have the highest level of priority, whatever they had before.
      if other > index, hasStarted(other), hasAged(run, member), !member.isResuming,
        !machine[runs[other].member].isNested,
        !bounds.takesTurns || run.kind.key == runs[other].kind.key
      {
        fail(.ageing, "run \(other) has started before run \(index), which has waited for an interval")
      }
      if other != index, hasStarted(other), comes(run, member, before: runs[other]) {
        fail(.order, "run \(other) has started before run \(index)")
      }
      other += 1
    }
  }

  /// Returns whether a run has waited for a slot for at least one interval.
  func hasAged(_ run: ModelRun, _ member: QueueMachine.Member) -> Bool {
    hadAged(run) && isWaitingForSlot(member)
  }

  /// Returns whether a run had waited for a slot for at least one interval before the latest step.
  private func hadAged(_ run: ModelRun) -> Bool {
    bounds.intervals > 0 && run.isWaiting && run.waitsSince < unsuspendedTime
  }

  /// Returns the priority of a run that was waiting for its slot before the latest step, or began to wait in it.
  private func level(of run: ModelRun) -> UInt8 { hadAged(run) ? RunKind.urgent : run.priority }

  /// Returns whether a run received its first slot for an execution in the latest step.
  private func hasStarted(_ index: Int) -> Bool {
    let run = runs[index]
    return run.isPresent && machine[run.member].phase == .starting && run.seenPhase != .starting
  }

  /// Returns whether a waiting run comes before another one that has started.
  private func comes(_ run: ModelRun, _ member: QueueMachine.Member, before other: ModelRun) -> Bool {
    let started = machine[other.member]
    if member.isResuming != started.isNested { return member.isResuming }
    if level(of: run) != level(of: other) { return level(of: run) > level(of: other) }
    if bounds.takesTurns, run.kind.key != other.kind.key, !member.isResuming { return false }
    return member.isNested == started.isNested && !member.isReturning
      && index(of: run.member) ?? 0 < index(of: other.member) ?? 0
      && run.parent < 0
  }

  /// Checks that no key starts more runs than its weight while another key waits for its turn.
  private func checkTurns() {
    var waiting = 0
    while waiting < 3 {
      var priority: UInt8 = 0
      while priority < 2 {
        if isWaiting(key: UInt8(waiting), priority) {
          checkTurns(of: waiting, priority)
        } else {
          clearTurns(of: waiting, priority)
        }
        priority += 1
      }
      waiting += 1
    }
  }

  /// The priorities, by the numbers that are used for the turns.
  private static let priorities = [RunKind.ordinary, RunKind.urgent]

  /// Returns whether the key has waited for its turn during the whole step.
  private func isWaiting(key: UInt8, _ priority: UInt8) -> Bool {
    var (index, hasWaiting) = (0, false)
    while index < admitted {
      let run = runs[index]
      if run.kind.key == key, run.isPresent, level(of: run) == Self.priorities[Int(priority)],
        !machine[run.member].isNested
      {
        if hasStarted(index) { return false }
        if run.couldTakeSlot, machine[run.member].phase == .ready, !machine.isKeyFull(run.member) { hasWaiting = true }
      }
      index += 1
    }
    return hasWaiting
  }

  /// The position of the two bits that count the starts of a key while another one waits.
  func turnShift(_ starting: Int, _ waiting: Int, _ priority: UInt8) -> UInt64 {
    UInt64((starting * 3 + waiting) * 2 + Int(priority)) * 2
  }

  private func checkTurns(of waiting: Int, _ priority: UInt8) {
    var index = 0
    while index < admitted {
      let key = Int(runs[index].kind.key)
      if key != waiting, hasStarted(index), !machine[runs[index].member].isNested,
        level(of: runs[index]) == Self.priorities[Int(priority)]
      {
        let shift = turnShift(key, waiting, priority)
        if overtakings >> shift & 3 >= runs[index].kind.weight {
          fail(.order, "key \(key) has started once too often while key \(waiting) waits for its turn")
        } else {
          overtakings += 1 << shift
        }
      }
      index += 1
    }
  }

  private func clearTurns(of waiting: Int, _ priority: UInt8) {
    for starting in 0..<3 { overtakings &= ~(3 << turnShift(starting, waiting, priority)) }
  }

  /// Sends the events to a cancelled run that its driver and its timers may still send. None of them may change anything.
  func checkLateEvents(of index: Int) {
    let member = runs[index].member
    var (copy, next) = (machine, QueueMachine.Next())
    let isStale =
      copy.dependenciesSucceeded(member, &next) == .stale && copy.conditionsSatisfied(member, &next) == .stale
      && copy.pauseEnded(member, &next) == .stale && copy.claimGranted(member, &next) == .stale
      && !copy.claimRefused(member) && !copy.evaluationStarts(member) && !copy.interrupted(member)
    copy.bodyEnded(member, &next)
    let isUnchanged =
      copy[member].phase == .finishing && copy.slotsTaken == machine.slotsTaken
      && copy.waitingCount == machine.waitingCount && next.steps.isEmpty && next.returned.isEmpty
    if !isStale || !isUnchanged { fail(.cancellation, "a late event has changed the cancelled run \(index)") }
  }
}
