/// A fault at a position in a response.
struct Fault: Sendable {
  enum Kind {
    /// Waits until the gate is open.
    case gate(ServerGate)
    case pause(Duration)
    /// Sends nothing more, and waits until the client disconnects or the server stops.
    case silence
    case close
    case reset
  }

  let kind: Kind
  /// The number of bytes of the body that are sent before the fault; `nil` for a fault before the head.
  let offset: Int?
}
