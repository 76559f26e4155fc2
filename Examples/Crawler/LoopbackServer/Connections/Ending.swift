/// Why the exchange on a connection ends before its time.
enum Ending: Error {
  /// A fault closes the connection.
  case closed
  /// A fault resets the connection.
  case reset
  /// The client has left, or the server stops.
  case left
}
