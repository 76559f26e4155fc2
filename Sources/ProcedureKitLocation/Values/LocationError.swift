public import Foundation

/// An error that explains why a location or an address could not be determined.
public struct LocationError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// The kind of a ``LocationError``. Later versions may add kinds, so a `switch` needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, for example `unreachable`.
    public let description: String

    /// The daemon does not respond at its address.
    public static let unreachable = Kind(description: "unreachable")
    /// The server at the address does not use gpsd's protocol, or uses an unsupported version of it.
    public static let unknownProtocol = Kind(description: "unknownProtocol")
    /// The daemon refused a request.
    public static let refused = Kind(description: "refused")
    /// The source ended before it provided a suitable location.
    public static let ended = Kind(description: "ended")
    /// The user or the system does not allow the app to use the device's location.
    public static let unauthorized = Kind(description: "unauthorized")
    /// The service has no address for the location.
    public static let noPlacemark = Kind(description: "noPlacemark")
  }

  /// The kind of error.
  public let kind: Kind
  /// A message that explains what failed, and what can be done about it.
  public let description: String

  init(_ kind: Kind, _ description: String) {
    (self.kind, self.description) = (kind, description)
  }

  /// The same text as ``description``.
  public var errorDescription: String? { description }
}
