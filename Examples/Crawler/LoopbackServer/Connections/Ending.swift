/// The reason a connection ends early.
enum Ending: Error {
  /// A fault in the response closes the connection.
  case closed
  /// A fault in the response resets the connection.
  case reset
  /// The client has disconnected, or the server is stopping.
  case left
}
