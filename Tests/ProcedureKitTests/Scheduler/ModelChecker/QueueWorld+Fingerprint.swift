@testable import ProcedureKit

/// The hash of a state, in which runs, keys and resources have no names of their own.
extension QueueWorld {
  func fingerprint() -> UInt64 {
    let (keyNames, resourceNames) = names()
    var (hash, positions, position, index) = (Fingerprint(), SIMD4<UInt8>(repeating: 15), UInt8(0), 0)
    while index < admitted {
      if runs[index].isLeft {
        positions[index] = position
        position += 1
      }
      index += 1
    }
    index = 0
    while index < admitted {
      if runs[index].isLeft { hash.combine(word(of: index, keyNames, resourceNames, positions)) }
      index += 1
    }
    var word = UInt64(admitted) | UInt64(startingWorkers) << 3 | UInt64(askingWorkers) << 5 | UInt64(cancellations) << 8
    word |=
      UInt64(suspensions) << 10 | UInt64(raises) << 12 | UInt64(widthChanges) << 14 | UInt64(addedDependencies) << 16
    word |= UInt64(machine.width) << 18 | (machine.isSuspended ? 1 << 21 : 0) | (machine.isWorkerStarting ? 1 << 22 : 0)
    word |= UInt64(machine.slotsTaken) << 23 | UInt64(intervals) << 28
    // A later run may depend on the latest one, even if that has ended.
    if let latest = latestRun(before: admitted) {
      word |= (runs[latest].hasSucceeded ? 1 << 26 : 0) | (runs[latest].task == .over ? 1 << 27 : 0)
    }
    hash.combine(word)
    if bounds.takesTurns { hash.combine(renamed(overtakings, keyNames)) }
    return hash.result
  }

  /// Returns whether the keys, and the resources, have to be exchanged so that the first one in use has the first name.
  private func names() -> (keys: Bool, resources: Bool) {
    var (keys, resources, index) = (false, false, admitted)
    while index > 0 {
      index -= 1
      let run = runs[index]
      guard run.isLeft else { continue }
      if run.kind.key != 0 { keys = run.kind.key == 2 }
      if run.kind.resources == 1 || run.kind.resources == 2 { resources = run.kind.resources == 2 }
    }
    return (keys, resources)
  }

  private func renamed(_ overtakings: UInt64, _ areExchanged: Bool) -> UInt64 {
    guard areExchanged, overtakings != 0 else { return overtakings }
    var renamed: UInt64 = 0
    func name(_ key: Int) -> Int { key == 0 ? 0 : 3 - key }
    for starting in 0..<3 {
      for waiting in 0..<3 {
        for priority in 0..<2 {
          let count = overtakings >> turnShift(starting, waiting, UInt8(priority)) & 3
          renamed |= count << turnShift(name(starting), name(waiting), UInt8(priority))
        }
      }
    }
    return renamed
  }

  private func word(of index: Int, _ exchangesKeys: Bool, _ exchangesResources: Bool, _ positions: SIMD4<UInt8>)
    -> UInt64
  {
    let (run, kind) = (runs[index], runs[index].kind)
    let resources = exchangesResources ? kind.resources >> 1 | (kind.resources & 1) << 1 : kind.resources
    var word = UInt64(exchangesKeys && kind.key != 0 ? 3 - kind.key : kind.key) | UInt64(resources) << 2
    word |= UInt64(run.task.rawValue) << 4 | UInt64(run.notice.rawValue) << 8 | UInt64(run.claim.rawValue) << 10
    word |= (run.isCancelled ? 1 << 12 : 0) | (run.isDecided ? 1 << 13 : 0) | (run.hasStarted ? 1 << 14 : 0)
    word |= (run.hasGrant ? 1 << 15 : 0) | (run.claimsLate ? 1 << 16 : 0) | (run.pausesLeft ? 1 << 17 : 0)
    word |= (run.waitsLeft ? 1 << 18 : 0) | (run.nestsLeft ? 1 << 19 : 0)
    word |= (kind.isExclusive ? 1 << 20 : 0) | (kind.isDrivenByWorker ? 1 << 21 : 0)
    if run.dependency >= 0 { word |= UInt64(positions[Int(run.dependency)]) << 22 } else { word |= 15 << 22 }
    if run.parent >= 0 { word |= UInt64(positions[Int(run.parent)]) << 26 } else { word |= 15 << 26 }
    if run.claim != .none { word |= UInt64(claimRank(of: run)) << 30 }
    guard run.isPresent else { return word }
    let member = machine[run.member]
    word |=
      UInt64(member.phase.rawValue) << 33 | UInt64(member.slot.rawValue) << 37
      | (member.priority == RunKind.urgent ? 1 << 39 : 0)
    word |= UInt64(member.prerequisites.rawValue) << 40 | (member.claims ? 1 << 44 : 0) | UInt64(member.waits) << 45
    word |= (hasAged(run, member) ? 1 << 53 : 0) | (member.risenPriority != 0 ? 1 << 54 : 0)
    if bounds.takesTurns {
      word |= UInt64(kind.weight) << 50 | UInt64(turnRank(of: member)) << 56
      word |= UInt64(turn(of: member)?.starts ?? 0) << 60
    }
    return word
  }

  /// Returns the number of claims that were requested before that of a run.
  private func claimRank(of run: ModelRun) -> Int {
    var (rank, index) = (0, 0)
    while index < admitted {
      if runs[index].claim != .none, runs[index].claimOrder < run.claimOrder { rank += 1 }
      index += 1
    }
    return rank
  }

  /// Returns the number of keys whose turn comes before that of the run's key, plus one; 0 if the run does not wait for a turn.
  private func turnRank(of member: QueueMachine.Member) -> Int {
    guard let tag = turn(of: member)?.virtualFinishTag else { return 0 }
    var (rank, index) = (1, 0)
    while index < admitted {
      if runs[index].isPresent, let other = turn(of: machine[runs[index].member]), other.virtualFinishTag < tag {
        rank += 1
      }
      index += 1
    }
    return rank
  }

  private func turn(of member: QueueMachine.Member) -> FairQueue.Turn? {
    guard member.key >= 0, member.phase == .ready || member.isReturning else { return nil }
    return machine.fairQueue.keys[Int(member.key)].turns.first { $0.priority == member.waitingPriority }
  }
}
