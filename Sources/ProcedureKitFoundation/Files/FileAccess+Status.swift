public import ProcedureKit

extension FileAccess {
  /// What the process may do with a file or a folder, beside what it needs.
  public struct Status: AuthorizationStatus, Hashable, CustomStringConvertible {
    /// What it may do.
    public let granted: Permissions
    /// What it needs.
    public let needed: Permissions

    /// What it needs and may not do.
    public var missing: Permissions { needed.subtracting(granted) }

    /// Whether nothing is missing.
    public func meets(_ requirement: Void) -> Bool { missing.isEmpty }

    /// What is missing and what is granted, as people read it.
    public var description: String {
      missing.isEmpty ? "may \(granted)" : "may not \(missing); may \(granted)"
    }
  }
}
