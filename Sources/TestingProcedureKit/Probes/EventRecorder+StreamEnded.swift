extension EventRecorder {
  /// The error of a wait for an event that never came: the stream has ended.
  public struct StreamEnded: Error, CustomStringConvertible {
    /// The description of the awaited event.
    public var awaited: String

    /// The recorded events.
    public var events: [ProcedureEvent]

    /// The awaited event and the recorded events.
    public var description: String {
      "the events have ended without \(awaited): \(events.map { "\($0.kind) of \($0.id)" })"
    }
  }
}
