extension ProcedureHandle {
  /// All events of the run, from its first to its last, as soon as it has finished.
  ///
  /// Cancelling the caller ends the wait; the events up to then are returned.
  public func allEvents() async -> [ProcedureEvent] {
    var all: [ProcedureEvent] = []
    for await event in events { all.append(event) }
    return all
  }
}
