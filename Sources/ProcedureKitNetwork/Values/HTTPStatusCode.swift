/// The status code of an HTTP response (RFC 9110, section 15).
public struct HTTPStatusCode: RawRepresentable, Sendable, Hashable, Codable, ExpressibleByIntegerLiteral {
  /// The number, for example 404.
  public let rawValue: Int

  /// Creates a status code from a number. Any number is allowed, because servers also send codes that are not standardized.
  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// Creates a status code from an integer literal.
  public init(integerLiteral value: Int) {
    self.init(rawValue: value)
  }

  /// Whether the code is in the range from 200 to 299.
  public var isSuccess: Bool { (200...299).contains(rawValue) }
  /// Whether the code is in the range from 300 to 399.
  public var isRedirection: Bool { (300...399).contains(rawValue) }
  /// Whether the code is in the range from 400 to 499.
  public var isClientError: Bool { (400...499).contains(rawValue) }
  /// Whether the code is in the range from 500 to 599.
  public var isServerError: Bool { (500...599).contains(rawValue) }
}

extension HTTPStatusCode: CustomStringConvertible {
  /// The number as text.
  public var description: String { String(rawValue) }
}
