/// Internal. What is done to the queue as a whole, and to the place of one member in it.
extension QueueMachine {
  mutating func suspended(_ actions: inout [Action]) {
    isSuspended = true
    for index in ready.members(ofPriority: Self.firstOfAll) where holdsUnusedResources(index) {
      if leads(index) { followingEnded(&actions) }
      ready.remove(index)
      giveBackResources(index, &actions)
      enterLine(index)
    }
  }

  func holdsUnusedResources(_ index: Int32) -> Bool {
    members[Int(index)].resources == .held && members[Int(index)].lifecycle.state == .waiting
  }

  /// What is held and not used yet would be kept from others for as long as the queue is suspended: it is claimed again.
  mutating func giveBackResources(_ index: Int32, _ actions: inout [Action]) {
    members[Int(index)].resources = .wanted
    actions.append(.giveBackResources(index))
  }

  mutating func resumed(_ actions: inout [Action]) {
    guard isSuspended else { return }
    isSuspended = false
    // In an order that is the same each time, which that of a set is not.
    let stalled = stalled.sorted()
    self.stalled = []
    for index in stalled {
      let member = members[Int(index)]
      // Structured runs evaluate their conditions in their own tasks.
      if member.kind == .structured, evaluations.contains(index) {
        evaluations.remove(index)
        actions.append(.wake(index))
      }
      // What has a slot, or lends it, stood in line only for the queue to resume.
      if member.holdsSlot || member.loans > 0 { leaveLine(index, &actions) }
    }
    grant(&actions)
  }

  mutating func widthChanged(to width: Int, _ actions: inout [Action]) {
    slots.resize(to: width)
    grant(&actions)
  }

  /// Something of higher priority waits for this member: wherever it stands in line, it stands there with that.
  ///
  /// - Returns: Whether it had a lower one.
  mutating func raised(_ index: Int32, to priority: UInt8) -> Bool {
    let member = members[Int(index)]
    guard member.priority < priority else { return false }
    if following.line.contains(index) {
      following.line.remove(index)
      following.line.insert(index, priority: priority, order: member.order)
    }
    members[Int(index)].priority = priority
    if ready.contains(index) {
      ready.remove(index)
      enterLine(index)
    }
    if evaluations.contains(index) {
      evaluations.remove(index)
      evaluations.insert(index, priority: priority, order: member.order)
    }
    return true
  }

  mutating func shutDown() {
    isShutDown = true
  }

  /// Every present run, in order of admission.
  var runIndices: [Int32] {
    members.indices.filter { members[$0].isPresent && members[$0].kind != .helper }
      .sorted { members[$0].order < members[$1].order }.map(Int32.init)
  }
}
