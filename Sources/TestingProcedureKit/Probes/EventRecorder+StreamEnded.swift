extension EventRecorder {
  /// What is waited for will never be recorded: the stream has ended without it.
  public struct StreamEnded: Error, CustomStringConvertible {
    /// What was waited for, in words.
    public var awaited: String

    /// What has been recorded.
    public var events: [ProcedureEvent]

    /// What was waited for, and what was recorded instead.
    public var description: String {
      "the events have ended without \(awaited): \(events.map { "\($0.step.rawValue) of \($0.id)" })"
    }
  }
}
