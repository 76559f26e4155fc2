/// The reason why the exchange on a connection ends early.
enum Ending: Error {
  /// A fault closes the connection.
  case closed
  /// A fault resets the connection.
  case reset
  /// The client has disconnected, or the server stops.
  case left
}
