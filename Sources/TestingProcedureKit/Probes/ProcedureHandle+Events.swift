extension ProcedureHandle {
  /// Waits for the run to finish, and returns all events of the run.
  ///
  /// Cancelling the caller ends the wait and returns the events so far.
  public func allEvents() async -> [ProcedureEvent] {
    var all: [ProcedureEvent] = []
    for await event in events { all.append(event) }
    return all
  }
}
