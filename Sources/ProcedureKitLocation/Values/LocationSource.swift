/// Measures the location of the device: a receiver, a system service, or values provided by a test.
public protocol LocationSource: Sendable {
  /// Starts measuring, and returns the locations as they arrive.
  ///
  /// Each call is a separate subscription, which ends with its iteration, or when the iterating task is cancelled. If the source can no
  /// longer measure, the sequence throws an error. The newest locations are kept for a slow reader, and older ones are dropped.
  ///
  /// - Returns: The locations, in the order in which they were measured.
  func locations() -> any AsyncSequence<Location, any Error>
}
