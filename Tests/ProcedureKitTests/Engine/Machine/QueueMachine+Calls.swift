@testable import ProcedureKit

/// Calls of the machine that return their actions, for tests by example.
extension QueueMachine {
  mutating func collect(_ change: (inout QueueMachine, inout [Action]) -> Void) -> [Action] {
    var actions: [Action] = []
    change(&self, &actions)
    return actions
  }

  /// Admits a member and forgets what follows.
  mutating func admit(
    _ kind: Kind, priority: UInt8 = 17, inheriting order: UInt64? = nil, hasDependencies: Bool = false,
    hasConditions: Bool = false, hasResources: Bool = false
  ) -> Int32 {
    var actions: [Action] = []
    return admitted(
      kind, priority: priority, inheriting: order, hasDependencies: hasDependencies, hasConditions: hasConditions,
      hasResources: hasResources, &actions)
  }

  /// A structured run that has a slot and has started.
  mutating func execute(priority: UInt8 = 17) -> Int32 {
    let member = admit(.structured, priority: priority)
    precondition(bodyStarted(member) && members[Int(member)].holdsSlot)
    return member
  }

  mutating func suspend() {
    var actions: [Action] = []
    suspended(&actions)
    precondition(actions.isEmpty)
  }

  /// The body of a member that nobody follows pauses.
  mutating func pauseStarted(_ member: Int32) {
    let actions = collect { $0.pauseStarted(member, &$1) }
    precondition(actions.isEmpty)
  }

  /// What a worker that is or is not new is told.
  mutating func ask(isNew: Bool = true) -> Work {
    var actions: [Action] = []
    return workerAsked(isNew: isNew, &actions)
  }

  /// The body of a run ends, and the run leaves.
  mutating func end(_ member: Int32) -> [Action] {
    bodyEnded(member)
    return leave(member)
  }

  mutating func leave(_ member: Int32) -> [Action] {
    collect { machine, actions in
      machine.left(member, &actions)
      machine.settled(&actions)
    }
  }

  mutating func cancel(_ member: Int32) -> [Action] { collect { $0.cancelRequested(member, &$1) } }

  mutating func resume() -> [Action] { collect { $0.resumed(&$1) } }

  mutating func awaitResources(for member: Int32) -> [Action] { collect { $0.resourcesAwaited(member, &$1) } }

  mutating func grantResources(to member: Int32) -> [Action] {
    collect { machine, actions in _ = machine.resourcesGranted(member, &actions) }
  }

  mutating func startLoan(_ member: Int32) -> [Action] { collect { $0.loanStarted(member, &$1) } }

  mutating func endLoan(_ member: Int32) -> Bool {
    var actions: [Action] = []
    return loanEnded(member, &actions)
  }

  mutating func startPiece(_ member: Int32) -> Bool {
    var actions: [Action] = []
    return pieceStarted(member, &actions)
  }
}
