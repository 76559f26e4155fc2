/// Measures where the device is: a receiver, a service of the system, or values of a test.
public protocol LocationSource: Sendable {
  /// Starts to measure, and returns the locations as they come.
  ///
  /// Each call is a subscription of its own, which ends with its iteration or when the iterating task is cancelled. A source
  /// that can measure no more throws. The newest locations are kept for a slow reader, and older ones are dropped.
  ///
  /// - Returns: The locations, in the order of measuring.
  func locations() -> any AsyncSequence<Location, any Error>
}
