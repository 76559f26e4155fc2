public import ProcedureKit

extension FileAccess {
  /// The permissions that are granted for a file or a folder, and those that are required.
  public struct Status: AuthorizationStatus, Hashable, CustomStringConvertible {
    /// The granted permissions.
    public let granted: Permissions
    /// The required permissions.
    public let needed: Permissions

    /// The required permissions that have not been granted.
    public var missing: Permissions { needed.subtracting(granted) }

    /// Returns whether all required permissions have been granted.
    public func meets(_ requirement: Void) -> Bool { missing.isEmpty }

    /// The missing and the granted permissions as they appear in messages, for example "missing write; granted read".
    public var description: String {
      missing.isEmpty ? "granted \(granted)" : "missing \(missing); granted \(granted)"
    }
  }
}
