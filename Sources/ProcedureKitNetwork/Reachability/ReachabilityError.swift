public import Foundation

/// Why a host cannot be reached.
public struct ReachabilityError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// The kind of a ``ReachabilityError``. Later versions can add kinds, so a `switch` has a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind: `refused`.
    public let description: String

    /// No address is known for the name of the host.
    public static let unknownHost = Kind(description: "unknownHost")
    /// No address of the host takes a connection.
    public static let refused = Kind(description: "refused")
    /// No connection was made within the time.
    public static let timedOut = Kind(description: "timedOut")
    /// The system has no network.
    public static let noNetwork = Kind(description: "noNetwork")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The host and the port, with the reason, as a sentence.
  public let description: String

  init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
