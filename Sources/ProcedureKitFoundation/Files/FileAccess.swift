internal import Foundation
public import ProcedureKit

/// A capability that represents permission to read, write, or execute a file or a folder.
///
/// ```swift
/// let archive = ProcedureTask("archive") { … }
///   .condition(.authorized(for: FileAccess("/var/log/kitten.log", [.read, .write])))
/// ```
///
/// The capability is *available* if there is a file or a folder at the path. A symbolic link is followed to its target. To create a file, a
/// process needs two permissions for the file's folder: `.write`, to add files to the folder, and `.execute`, to enter it.
///
/// Requesting authorization has no effect, because neither Linux nor any Apple platform lets a process prompt the user for file
/// permissions. `.authorized(for:)` and `.authorized(for:).silenced()` therefore behave in the same way: if a permission is missing, the
/// procedure fails immediately with `conditionFailed`, whose `underlying` is the `CapabilityError`. On macOS, the system itself prompts the
/// user when a file in a protected folder is first opened. Access to a path outside the app's sandbox is refused.
///
/// The status describes what the process's real user is permitted to do at the time of the check. On Linux, the root user can read and
/// write every file. Permissions can change after the check, so opening the file can still fail.
public struct FileAccess: Capability, Hashable {
  /// The path of the file or the folder. A path without a leading slash is relative to the working directory.
  public let path: SystemText
  /// The required permissions.
  public let permissions: Permissions

  /// Creates a capability for a path.
  ///
  /// - Parameters:
  ///   - path: The path of the file or the folder.
  ///   - permissions: The required permissions. If the set is empty, the file or the folder only has to exist.
  public init(_ path: SystemText, _ permissions: Permissions) {
    self.path = path
    self.permissions = permissions
  }

  /// Creates a capability for a path that is given as a string.
  @_disfavoredOverload public init(_ path: String, _ permissions: Permissions) {
    // This overload is disfavored so that a literal creates a `SystemText`, which can contain arbitrary bytes.
    self.init(SystemText(path), permissions)
  }

  /// The permissions, followed by the path, for example "read, write /var/log/kitten.log".
  public var name: String {
    permissions.isEmpty ? path.description : "\(permissions) \(path)"
  }

  /// Returns whether the process can find a file or a folder at the path. Cancelling the caller has no effect.
  public func isAvailable() async -> Bool {
    allows(F_OK)
  }

  /// Returns the permissions that the process has for the path. If there is no file at the path, no permissions are granted. Cancelling the
  /// caller has no effect.
  public func authorizationStatus() async -> Status {
    var granted: Permissions = []
    if allows(R_OK) { granted.insert(.read) }
    if allows(W_OK) { granted.insert(.write) }
    if allows(X_OK) { granted.insert(.execute) }
    return Status(granted: granted, needed: permissions)
  }

  /// Does nothing, because a process cannot prompt the user for file permissions. Cancelling the caller has no effect.
  public func requestAuthorization(_ requirement: Void) async {}

  private func allows(_ mode: Int32) -> Bool {
    // A path that contains a NUL character is invalid, because the system would ignore that character and everything after it.
    !path.containsZero && path.withCString { access($0, mode) } == 0
  }
}
