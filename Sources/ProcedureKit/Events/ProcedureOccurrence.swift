/// Internal. What is passed on to those who watch: an event, or several that are one step of a worker, in a fraction of the room.
enum ProcedureOccurrence: BufferedEvent {
  case event(ProcedureEvent)
  case succession(ProcedureSuccession)

  @inline(__always) var partCount: Int {
    switch self {
    case .event: 1
    case .succession(let succession): succession.partCount
    }
  }

  @inline(__always) func part(_ index: Int) -> ProcedureEvent {
    switch self {
    case .event(let event): event
    case .succession(let succession): succession.part(index)
    }
  }
}

/// Internal. A run has finished, and the worker goes straight on with the next in the same slot.
struct ProcedureSuccession: Sendable {
  let finished: ProcedureIdentity
  /// The attempt that has ended with it, unless that has been told before.
  let attempt: Int?
  let outcome: ProcedureOutcome<Void>
  let next: ProcedureIdentity
  let instant: ProcedureInstant

  fileprivate var partCount: Int { attempt == nil ? 3 : 4 }

  @inline(__always) fileprivate func part(_ index: Int) -> ProcedureEvent {
    if index == 0, let attempt { return event(of: finished, .didExecute(attempt: attempt)) }
    return switch partCount - index {
    case 3: event(of: finished, .willFinish(outcome))
    case 2: event(of: finished, .didFinish(outcome))
    default: event(of: next, .willExecute(attempt: 1))
    }
  }

  private func event(of run: ProcedureIdentity, _ kind: ProcedureEvent.Kind) -> ProcedureEvent {
    ProcedureEvent(id: run.id, name: run.name, instant: instant, kind: kind)
  }
}
