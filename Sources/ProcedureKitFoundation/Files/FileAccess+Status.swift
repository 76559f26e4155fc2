public import ProcedureKit

extension FileAccess {
  /// The granted and the required permissions for a file or a folder.
  public struct Status: AuthorizationStatus, Hashable, CustomStringConvertible {
    /// The granted permissions.
    public let granted: Permissions
    /// The required permissions.
    public let needed: Permissions

    /// The required permissions that are not granted.
    public var missing: Permissions { needed.subtracting(granted) }

    /// Returns whether all required permissions are granted.
    public func meets(_ requirement: Void) -> Bool { missing.isEmpty }

    /// The missing and the granted permissions, as text for messages.
    public var description: String {
      missing.isEmpty ? "may \(granted)" : "may not \(missing); may \(granted)"
    }
  }
}
