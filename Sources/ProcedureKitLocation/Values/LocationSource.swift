/// A source of the device's locations, such as a receiver, a system service, or a stub in a test.
public protocol LocationSource: Sendable {
  /// Starts locating the device, and returns the locations as they arrive.
  ///
  /// Each call creates a separate subscription, which ends when the iteration ends or the iterating task is cancelled. If the source can no
  /// longer determine the location, the sequence throws an error. If the reader is slow, the newest locations are kept, and older ones are
  /// dropped.
  ///
  /// - Returns: The locations, in the order in which they were determined.
  func locations() -> any AsyncSequence<Location, any Error>
}
