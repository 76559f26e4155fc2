/// The status code of an HTTP response (RFC 9110, section 15).
public struct HTTPStatusCode: RawRepresentable, Sendable, Hashable, Codable, ExpressibleByIntegerLiteral {
  /// The number, 404 say.
  public let rawValue: Int

  /// Makes the code of a number. Any number is allowed, since servers send others than those of the standard.
  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// Makes the code of a number.
  public init(integerLiteral value: Int) {
    self.init(rawValue: value)
  }

  /// Whether the code is one of 200 … 299.
  public var isSuccess: Bool { (200...299).contains(rawValue) }
  /// Whether the code is one of 300 … 399.
  public var isRedirection: Bool { (300...399).contains(rawValue) }
  /// Whether the code is one of 400 … 499.
  public var isClientError: Bool { (400...499).contains(rawValue) }
  /// Whether the code is one of 500 … 599.
  public var isServerError: Bool { (500...599).contains(rawValue) }
}

extension HTTPStatusCode: CustomStringConvertible {
  /// The number as text.
  public var description: String { String(rawValue) }
}
