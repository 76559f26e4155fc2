extension ProcedureQueueConformance {
  /// The rules of every queue, numbered as in ProcedureKit's design: all rules except L3 (hooks), Q7 (priority
  /// inheritance) and T1 (schedules).
  public enum Rule: String, Sendable, Hashable, CaseIterable, Identifiable {
    /// The states of a run.
    case l1
    /// The order of events.
    case l2
    /// The guarantees at `didFinish`.
    case l4
    /// The first cancel and the first finish.
    case c1
    /// A cancel before the start of the body.
    case c2
    /// A cancel of an executing body.
    case c3
    /// A cancel of the caller.
    case c4
    /// A cancel of a graph.
    case c5
    /// The isolation of a cancel from other runs.
    case c6
    /// Dependencies that do not succeed.
    case d1
    /// Dependencies on other queues.
    case d2
    /// The lifetime of a graph's values.
    case d3
    /// The error policies of a graph.
    case d4
    /// The time of evaluating conditions, and the decision.
    case k1
    /// The preparation of conditions.
    case k2
    /// Combined conditions.
    case k3
    /// Mutual exclusion.
    case r1
    /// The time of holding resources.
    case r2
    /// The ownership of resources.
    case r3
    /// The claims of a holder's parts.
    case r4
    /// Width and order.
    case q1
    /// Suspension.
    case q2
    /// Procedures that await others.
    case q3
    /// Waiting for idleness, and shutting down.
    case q4
    /// The context that `run` inherits.
    case q5
    /// The executor of bodies.
    case q6
    /// Retries.
    case t2

    /// The number of the rule: `C2`.
    public var id: String { rawValue.uppercased() }

    /// The rule in one sentence.
    public var statement: String {
      switch self {
      case .l1: "States only go forward, and each run finishes exactly once."
      case .l2: "The events of a run have one order, replayed from the first to whoever subscribes late."
      case .l4: "When didFinish can be seen, the value is there and the slot has been given back."
      case .c1: "The first finish wins and the first cancel wins; a cancel after the body has returned is ignored."
      case .c2: "After a cancel before the start the body never runs, and the run finishes whatever it waited for."
      case .c3: "A cancel reaches the executing body, and the outcome is cancelled whatever the body does then."
      case .c4: "Cancelling the caller cancels what it runs, and does not cancel what it only awaits."
      case .c5: "Cancelling a graph cancels what executes, starts nothing more, and waits for what is executing."
      case .c6: "Cancelling one run never disturbs another."
      case .d1: "A dependency that does not succeed stops its dependents, except those that depend on its result."
      case .d2: "Dependencies may live on other queues, and pass their values."
      case .d3: "A node's value is released as soon as its last consumer has taken it."
      case .d4:
        "A graph stops at the first failure, or goes on with what it can and collects all errors, as it is told."
      case .k1:
        "Conditions are evaluated at once, after dependencies and without a slot; a failure decides, then a false."
      case .k2: "A condition is prepared before it is evaluated, unless it is silent; a failed preparation decides."
      case .k3: "Any of two conditions suffices for an \"or\", and a \"not\" is satisfied by what is not."
      case .r1: "What excludes each other never executes at once, what shares does, and nobody is overtaken for ever."
      case .r2: "Nothing is held while dependencies or conditions are undecided."
      case .r3: "Only the end of the holder gives back; a cancelled or suspended waiter changes nothing."
      case .r4: "What a holder executes itself shares its hold, one at a time, and does not deadlock."
      case .q1: "Never more bodies than the width execute at once, the most urgent first, then the first to come."
      case .q2: "A suspended queue starts and evaluates nothing; what executes goes on."
      case .q3: "A procedure that awaits others on its queue lends them its slot."
      case .q4: "Waiting for idleness and shutting down miss nothing, and dropping a queue loses nothing."
      case .q5: "What run executes has the task-local values and the priority of the caller."
      case .q6: "A body executes on the executor of its queue, whoever called."
      case .t2: "A retry ends with a success, a cancel, an ignored attempt, or the last error; a pause holds nothing."
      }
    }

    func check(_ trial: ConformanceTrial) async throws {
      switch self {
      case .l1: try await trial.statesGoForward()
      case .l2: try await trial.eventsAreOrdered()
      case .l4: try await trial.finishedIsFinished()
      case .c1: try await trial.firstDecides()
      case .c2: try await trial.cancelledBeforeTheStart()
      case .c3: try await trial.cancelledWhileExecuting()
      case .c4: try await trial.cancelledCaller()
      case .c5: try await trial.cancelledGraph()
      case .c6: try await trial.cancelDisturbsNobody()
      case .d1: try await trial.dependentsAreStopped()
      case .d2: try await trial.dependenciesElsewhere()
      case .d3: try await trial.valuesAreReleased()
      case .d4: try await trial.graphFailures()
      case .k1: try await trial.conditionsAtOnce()
      case .k2: try await trial.conditionsArePrepared()
      case .k3: try await trial.conditionsCombine()
      case .r1: try await trial.exclusionHolds()
      case .r2: try await trial.heldOnlyToExecute()
      case .r3: try await trial.onlyTheHolderGivesBack()
      case .r4: try await trial.nestedHolds()
      case .q1: try await trial.widthAndOrder()
      case .q2: try await trial.suspension()
      case .q3: try await trial.lentSlots()
      case .q4: try await trial.nothingIsMissed()
      case .q5: try await trial.callersContext()
      case .q6: try await trial.queueExecutor()
      case .t2: try await trial.retries()
      }
    }
  }
}

extension ProcedureQueueConformance.Rule: CustomStringConvertible {
  /// The number and the statement.
  public var description: String { "\(id): \(statement)" }
}
