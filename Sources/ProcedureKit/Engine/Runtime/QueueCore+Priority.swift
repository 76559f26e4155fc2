/// Internal. Rule Q7: whoever is waited for has the priority of those who wait.
extension QueueCore {
  /// - Returns: What has to be moved up as well: what it depends on, its parts, whom it follows, and the claim with which it waits.
  func raise(
    _ run: Run, to priority: UInt8
  ) -> (dependencies: [any ProcedureDependency], parts: [Run], claim: ResourceClaim?) {
    visit { state, actions, _ in
      guard run.member >= 0, state.machine.raised(run.member, to: priority) else { return ([], [], nil) }
      // It may be the first now for whom a slot is free, and wait for that in its own task.
      defer { state.machine.settled(&actions) }
      switch state[run].lifecycle.state {
      case .pending: return (run.detachedRun?.dependencyHandles ?? [], [], nil)
      case .waiting:
        let leader = state.machine.follows(run.member) ? state.machine.leader : nil
        let parts = leader.flatMap { state.holders[Int($0)] as? Run }.map { [$0] } ?? []
        return ([], parts, state[run].resources == .awaited ? run.claim : nil)
      case .executing, .pausing: return ([], state.raiseParts(of: run, to: priority), nil)
      case .evaluating, .finishing, .finished: return ([], [], nil)
      }
    }
  }
}

extension QueueState {
  /// Moves up what a body has started on its own queue.
  ///
  /// - Returns: The runs among them, which may have parts of their own that wait elsewhere.
  fileprivate mutating func raiseParts(of run: Run, to priority: UInt8) -> [Run] {
    var parts: [Run] = []
    for holder in holders {
      guard let holder, holder !== run, holder.member >= 0, holder.isPart(of: run) else { continue }
      if let part = holder as? Run { parts.append(part) } else { _ = machine.raised(holder.member, to: priority) }
    }
    return parts
  }
}

extension SlotHolder {
  fileprivate func isPart(of run: Run) -> Bool {
    guard let parent else { return false }
    return sequence(first: parent, next: \.scope.parent).contains { $0.scope === run }
  }
}
