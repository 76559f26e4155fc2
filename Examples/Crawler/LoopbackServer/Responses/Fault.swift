/// A fault at a position of a response.
struct Fault: Sendable {
  enum Kind {
    /// Waits until the gate is open.
    case gate(ServerGate)
    case pause(Duration)
    /// Waits until the client disconnects or the server stops.
    case silence
    case close
    case reset
  }

  let kind: Kind
  /// The number of bytes of the body that are sent before; `nil` is before the head.
  let offset: Int?
}
