/// Internal. What is passed on to those who watch: an event, or several that are one step of a worker, in a fraction of the room.
enum ProcedureOccurrence: Sendable {
  case event(ProcedureEvent)
  case succession(ProcedureSuccession)

  /// Its first event; those after it are put before `rest`, of which the next event is the last.
  func unfold(before rest: inout ContiguousArray<ProcedureEvent>) -> ProcedureEvent {
    switch self {
    case .event(let event): return event
    case .succession(let succession): return succession.unfold(before: &rest)
    }
  }
}

/// Internal. A run has come to a value, and the worker goes straight on with the next in the same slot.
struct ProcedureSuccession: Sendable {
  let finished: ProcedureIdentity
  let next: ProcedureIdentity
  let instant: ProcedureInstant

  fileprivate func unfold(before rest: inout ContiguousArray<ProcedureEvent>) -> ProcedureEvent {
    rest.append(event(of: next, .willExecute(attempt: 1)))
    rest.append(event(of: finished, .didFinish(.finished(()))))
    rest.append(event(of: finished, .willFinish(.finished(()))))
    return event(of: finished, .didExecute(attempt: 1))
  }

  private func event(of run: ProcedureIdentity, _ kind: ProcedureEvent.Kind) -> ProcedureEvent {
    ProcedureEvent(id: run.id, name: run.name, instant: instant, kind: kind)
  }
}
