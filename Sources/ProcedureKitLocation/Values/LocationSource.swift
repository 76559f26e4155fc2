/// Measures the location of the device: a receiver, a service of the system, or values of a test.
public protocol LocationSource: Sendable {
  /// Starts measuring, and returns the locations as they arrive.
  ///
  /// Each call is a separate subscription, which ends with its iteration or when the iterating task is cancelled. A source
  /// that cannot measure any more throws. The newest locations are kept for a slow reader, and older ones are dropped.
  ///
  /// - Returns: The locations, in the order of measuring.
  func locations() -> any AsyncSequence<Location, any Error>
}
