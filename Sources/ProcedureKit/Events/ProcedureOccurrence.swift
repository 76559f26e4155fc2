/// Internal. What is passed on to those who watch: an event, or several that are one step of a worker, in a fraction of the room.
struct ProcedureOccurrence: BufferedEvent {
  /// The event; of a succession, that the first run has finished.
  private var event: ProcedureEvent
  /// Of a succession, the run that the worker goes on with,
  private let successor: ProcedureIdentity
  /// and the attempt that has ended with the first run.
  private let attempt: Int
  private let parts: UInt8

  /// One event.
  @inline(__always)
  init(_ event: ProcedureEvent) {
    self.event = event
    successor = ProcedureIdentity(id: event.id, name: "")
    attempt = 0
    parts = 1
  }

  /// A succession: a run has finished, and the worker goes straight on with the next in the same slot.
  ///
  /// - Parameters:
  ///   - finished: That the run has finished.
  ///   - attempt: The attempt that has ended with it, unless that has been told before.
  ///   - successor: The next.
  @inline(__always)
  init(finished: ProcedureEvent, attempt: Int?, successor: ProcedureIdentity) {
    event = finished
    self.successor = successor
    self.attempt = attempt ?? 0
    parts = attempt == nil ? 3 : 4
  }

  var partCount: Int { Int(parts) }

  @inline(__always)
  func part(_ index: Int) -> ProcedureEvent {
    guard parts > 1 else { return event }
    return switch partCount - index {
    case 4: ProcedureEvent(id: event.id, name: event.name, instant: event.instant, kind: .didExecute(attempt: attempt))
    case 3: event.foretold
    case 2: event
    default:
      ProcedureEvent(id: successor.id, name: successor.name, instant: event.instant, kind: .willExecute(attempt: 1))
    }
  }

  var hasValues: Bool { event.hasDetails }

  mutating func takeValues() -> AnyObject? { event.takeDetails() }
}
