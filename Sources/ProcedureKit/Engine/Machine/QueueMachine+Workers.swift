/// Internal. What those who execute are given to do.
extension QueueMachine {
  /// A worker asks what to do, for the first time or again.
  ///
  /// - Parameters:
  ///   - isNew: Whether it has just started.
  ///   - actions: What is to be done besides.
  /// - Returns: What it is to do.
  mutating func workerAsked(isNew: Bool, _ actions: inout [Action]) -> Work {
    if isNew { workerIsStarting = false }
    var work = Work.end
    if let index = endings.popFirst() {
      work = .conclude(index)
    } else if !isSuspended {
      if let index = evaluations.first {
        // Those whose own tasks evaluate were woken when the queue resumed.
        evaluations.remove(index)
        work = .evaluate(index)
      } else {
        grantWaiting(&actions)
        if slots.hasFree, let index = ready.first {
          ready.remove(index)
          takeSlot(for: index)
          work = members[Int(index)].resources == .wanted ? .claim(index) : execute(index)
        }
      }
    }
    grant(&actions)
    return work
  }

  /// A worker that has found nothing, and has let go of all that it has executed, stays for a moment: unless another does, or
  /// something has come meanwhile. Also where another is starting, which may take as long as this one does not give its thread up.
  ///
  /// - Returns: Whether it does; then `lingeringEnded` comes before it asks again.
  mutating func lingeringStarted() -> Bool {
    guard !workerLingers, endings.isEmpty, nextForWorker == nil else { return false }
    workerLingers = true
    return true
  }

  mutating func lingeringEnded() { workerLingers = false }

  /// Whether a worker is on its way that will ask for work, so that none has to be ordered.
  @inline(__always)
  var workerIsComing: Bool { workerIsStarting || workerLingers }

  mutating func execute(_ index: Int32) -> Work {
    if members[Int(index)].lifecycle.bodyStarted() == false {
      preconditionFailure("QueueMachine: a decided member stood in the ready list")
    }
    stoppedWaiting(index)
    return .execute(index)
  }

  /// Whether a worker, and not a task of its own, takes the slot for this member.
  @inline(__always)
  func isServedByWorker(_ index: Int32) -> Bool {
    members[Int(index)].kind == .detached && members[Int(index)].lifecycle.state == .waiting
  }

  /// Gives free slots to those whose tasks wait for them.
  private mutating func grantWaiting(_ actions: inout [Action]) {
    while slots.hasFree, let index = returning.popFirst() {
      takeSlot(for: index)
      leaveLine(index, &actions)
      actions.append(.wake(index))
    }
    guard !isSuspended else { return }
    while slots.hasFree, let index = ready.first, !isServedByWorker(index) {
      takeSlot(for: index)
      leaveLine(index, &actions)
    }
  }

  mutating func takeSlot(for index: Int32) {
    precondition(!members[Int(index)].holdsSlot, "QueueMachine: a member was given a second slot")
    slots.take()
    members[Int(index)].holdsSlot = true
  }

  /// A member that stands in line, between two pieces of its work, may start the next.
  mutating func leaveLine(_ index: Int32, _ actions: inout [Action]) {
    guard ready.contains(index) else { return }
    if isSuspended {
      stalled.insert(index)
      return
    }
    ready.remove(index)
    actions.append(.wake(index))
  }

  /// Nothing more follows at this moment: what is free goes to whoever is next.
  mutating func settled(_ actions: inout [Action]) {
    grant(&actions)
  }

  /// Gives free slots away, and orders a worker where only one more can go on.
  mutating func grant(_ actions: inout [Action]) {
    grantWaiting(&actions)
    guard !workerIsComing, let index = endings.first ?? nextForWorker else { return }
    workerIsStarting = true
    actions.append(.addWorker(priority: members[Int(index)].priority))
  }

  private var nextForWorker: Int32? {
    guard !isSuspended else { return nil }
    return evaluations.first ?? (slots.hasFree ? ready.first : nil)
  }
}
