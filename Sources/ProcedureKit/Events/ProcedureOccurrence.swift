/// Internal. What is passed on to those who watch: an event, or several that are one step of a worker, in a fraction of the room.
enum ProcedureOccurrence: BufferedEvent {
  case event(ProcedureEvent)
  case succession(ProcedureSuccession)

  func first(before rest: inout ContiguousArray<ProcedureOccurrence>) -> ProcedureOccurrence {
    switch self {
    case .event: self
    case .succession(let succession): succession.first(before: &rest)
    }
  }

  /// The event. Only of what a reader has taken, which is divided.
  var event: ProcedureEvent {
    guard case .event(let event) = self else { preconditionFailure("ProcedureOccurrence: \(self) was not divided") }
    return event
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

  fileprivate func first(before rest: inout ContiguousArray<ProcedureOccurrence>) -> ProcedureOccurrence {
    rest.append(occurrence(of: next, .willExecute(attempt: 1)))
    rest.append(occurrence(of: finished, .didFinish(outcome)))
    let decision = occurrence(of: finished, .willFinish(outcome))
    guard let attempt else { return decision }
    rest.append(decision)
    return occurrence(of: finished, .didExecute(attempt: attempt))
  }

  private func occurrence(of run: ProcedureIdentity, _ kind: ProcedureEvent.Kind) -> ProcedureOccurrence {
    .event(ProcedureEvent(id: run.id, name: run.name, instant: instant, kind: kind))
  }
}
