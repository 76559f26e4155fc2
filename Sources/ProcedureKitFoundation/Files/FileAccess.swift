internal import Foundation
public import ProcedureKit

/// The permission to read, write or execute a file or a folder, as a capability.
///
/// ```swift
/// let archive = ProcedureTask("archive") { … }
///   .condition(.authorized(for: FileAccess("/var/log/kitten.log", [.read, .write])))
/// ```
///
/// The capability is *available* if there is a file or a folder at the path; a symbolic link is followed to its target. Before creating a
/// file, test its folder: `.write` for adding files to the folder, and `.execute` for entering it.
///
/// A request has no effect, because neither Linux nor Apple's platforms ask the user for file permissions. `.authorized(for:)` and
/// `.authorized(for:).silenced()` therefore behave in the same way: if a permission is missing, the procedure fails immediately with
/// `conditionFailed`, whose `underlying` is the `CapabilityError`. On macOS, the system asks the user when a file in a protected folder is
/// first opened, not earlier. A path outside the sandbox is refused.
///
/// The status applies to the process's real user at one instant. On Linux, an administrator can read and write every file. A file can
/// change between the test and the moment when it is opened, so opening it can still fail.
public struct FileAccess: Capability, Hashable {
  /// The path of the file or the folder. A path without a leading slash is relative to the working directory.
  public let path: SystemText
  /// The required permissions.
  public let permissions: Permissions

  /// Creates a capability for a path.
  ///
  /// - Parameters:
  ///   - path: The path of the file or the folder.
  ///   - permissions: The required permissions. An empty set only requires that the file or the folder exists.
  public init(_ path: SystemText, _ permissions: Permissions) {
    self.path = path
    self.permissions = permissions
  }

  /// Creates a capability for a path in a string.
  @_disfavoredOverload public init(_ path: String, _ permissions: Permissions) {
    // This is disfavored so that a literal creates a `SystemText`, which can contain arbitrary bytes.
    self.init(SystemText(path), permissions)
  }

  /// The permissions and the path, for example "read, write /var/log/kitten.log".
  public var name: String {
    permissions.isEmpty ? path.description : "\(permissions) \(path)"
  }

  /// Returns whether there is a file or a folder at the path, as far as the process can see. Cancelling the caller has no effect.
  public func isAvailable() async -> Bool {
    allows(F_OK)
  }

  /// Returns the permissions of the process for the path; none if the file is missing. Cancelling the caller has no effect.
  public func authorizationStatus() async -> Status {
    var granted: Permissions = []
    if allows(R_OK) { granted.insert(.read) }
    if allows(W_OK) { granted.insert(.write) }
    if allows(X_OK) { granted.insert(.execute) }
    return Status(granted: granted, needed: permissions)
  }

  /// Does nothing, because there is no prompt. Cancelling the caller has no effect.
  public func requestAuthorization(_ requirement: Void) async {}

  private func allows(_ mode: Int32) -> Bool {
    // A valid path does not contain a NUL; the system would cut the path off there.
    !path.containsZero && path.withCString { access($0, mode) } == 0
  }
}
