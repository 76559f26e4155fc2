public import Foundation

/// The reason a host cannot be reached.
public struct ReachabilityError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// The kind of a ``ReachabilityError``. Later versions may add kinds, so a `switch` needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, for example `refused`.
    public let description: String

    /// The host name could not be resolved to an address, or the host or port is invalid.
    public static let unknownHost = Kind(description: "unknownHost")
    /// None of the host's addresses accepts a connection.
    public static let refused = Kind(description: "refused")
    /// No connection was made within the time limit.
    public static let timedOut = Kind(description: "timedOut")
    /// The system has no network connection.
    public static let noNetwork = Kind(description: "noNetwork")
  }

  /// The kind of error.
  public let kind: Kind
  /// A sentence that states what could not be reached, and the reason.
  public let description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// The same text as ``description``.
  public var errorDescription: String? { description }
}
