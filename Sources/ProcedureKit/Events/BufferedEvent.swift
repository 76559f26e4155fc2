/// Internal. What is buffered between those who report events and those who read them: an event, or several as one.
protocol BufferedEvent: Sendable {
  /// Its first event. Those that follow are put before `rest`, of which the next is the last.
  ///
  /// - Parameter rest: What is read after it.
  /// - Returns: The first event.
  func first(before rest: inout ContiguousArray<Self>) -> Self
}

extension BufferedEvent {
  func first(before rest: inout ContiguousArray<Self>) -> Self { self }
}
