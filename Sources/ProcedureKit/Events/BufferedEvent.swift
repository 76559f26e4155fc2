/// Internal. What is buffered between those who report events and those who read them: an event, or several as one.
protocol BufferedEvent: Sendable {
  /// What is read.
  associatedtype Part: Sendable = Self

  /// How many events it is; at least one.
  var partCount: Int { get }

  /// One of them, counted from 0.
  func part(_ index: Int) -> Part

  /// Whether it may refer to values of the user's.
  var hasValues: Bool { get }

  /// Gives up the values of the user's that it refers to; called once it has been read.
  mutating func takeValues() -> AnyObject?
}

extension BufferedEvent {
  var hasValues: Bool { false }

  mutating func takeValues() -> AnyObject? { nil }
}

extension BufferedEvent where Part == Self {
  var partCount: Int { 1 }

  func part(_ index: Int) -> Self { self }
}
