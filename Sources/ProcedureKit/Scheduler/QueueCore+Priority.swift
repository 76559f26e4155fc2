extension QueueCore {
  /// Returns the unfinished run with the given ID; `nil` if this queue has no such run.
  ///
  /// Layers and attempts are skipped, because they report under the ID of their run.
  func unfinishedRun(_ id: ProcedureID) -> Run? {
    read { $0.unfinishedRuns { run, _ in run.isReported && run.id == id }.first }
  }

  /// Changes the priority of a run that is waiting to start. Returns `false` if its body is executing or if the run has ended.
  func setPriority(_ priority: UInt8, of run: Run) -> Bool {
    let isWaiting = send { state, _ in state.machine.lowered(state.runs[run].member, to: priority) }
    // A higher priority also raises the runs that this run is waiting for.
    if isWaiting { raise(run, to: priority) }
    return isWaiting
  }

  /// Raises the priority of a run and of the runs that it is waiting for: its dependencies, its children, and the holders of the resources
  /// that it is claiming (Q7).
  ///
  /// This function is called when a run starts to wait for a dependency, a claim, a shared execution, a batch, or a keyed value; when a
  /// shared execution gets a new leader; and when `setPriority` changes the priority of a waiting run.
  func raise(_ run: Run, to priority: UInt8) {
    let (isClaiming, dependencies, children) = send { state, _ -> (Bool, [any ProcedureDependency], [Run]) in
      let member = state.runs[run].member
      guard state.machine.raised(member, to: priority) else { return (false, [], []) }
      return (
        state.machine[member].phase == .claiming, state.runs[run].details.dependencies.handles,
        state.runs[run].details.children.byID.inOrder
      )
    }
    if isClaiming { resources.raise(run, to: priority) }
    guard !(dependencies.isEmpty && children.isEmpty) else { return }
    Trampoline.call {
      for other in dependencies.map(\.asRunDependency.dependencyRun) + children {
        other.core.raise(other, to: priority)
      }
    }
  }
}

extension Run {
  /// The priority, in the ready queue, of the run whose slot this run uses.
  var currentPriority: UInt8 {
    let owner = slotOwner
    return owner.core.read { owner.priority($0) }
  }

  /// Returns the priority in the ready queue; 0 for a run that is not in the machine.
  func priority(_ state: borrowing QueueCore.State) -> UInt8 {
    let member = state.runs[self].member
    return member >= 0 ? state.machine[member].priority : 0
  }
}
