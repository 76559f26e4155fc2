import Synchronization

/// The events of one run. Each subscriber receives the events that were kept so far, followed by all later events.
final class EventLog: Sendable {
  private let kept: Mutex<ContiguousArray<ProcedureEvent>>
  private let broadcaster = EventBroadcaster<ProcedureEvent>()

  /// Creates a log that begins with `past`.
  init(past: ContiguousArray<ProcedureEvent>) {
    kept = Mutex(past)
  }

  /// Appends an event, which later subscribers receive only if `isKept` is `true`, and adds an effect for each reader that must be resumed.
  func append(_ event: ProcedureEvent, isKept: Bool, _ effects: inout [EventEffect]) {
    kept.withLock { kept in
      if isKept { kept.append(event) }
      broadcaster.send(event, &effects)
    }
  }

  /// Closes the log, so no further events are appended.
  func close() { broadcaster.close() }

  /// Subscribes to the events of the run.
  func subscribe() -> EventSubscription<ProcedureEvent> {
    kept.withLock { broadcaster.subscribe(replaying: $0) }
  }
}
