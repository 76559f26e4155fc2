internal import Foundation
public import ProcedureKit

/// The permission to read, write or execute a file or a folder, as a capability.
///
/// ```swift
/// let archive = ProcedureTask("archive") { … }
///   .condition(.authorized(for: FileAccess("/var/log/kitten.log", [.read, .write])))
/// ```
///
/// The capability is *available* if a file or a folder exists at the path; a symbolic link is followed to its target.
/// Before creating a file, test the folder: `.write` for adding to the folder, and `.execute` for entering the folder.
///
/// A request has no effect: neither Linux nor Apple's platforms prompt for the permissions of a file.
/// `.authorized(for:)` and `.silent(.authorized(for:))` therefore behave alike: a missing permission fails the
/// procedure immediately with `conditionFailed`, whose `underlying` is the `CapabilityError`. On macOS, a protected folder
/// prompts when a file is first opened, not earlier. A path outside of the sandbox is refused.
///
/// The status describes the process's real user at one instant. On Linux, an administrator can read and write every
/// file. A file can change between the test and the opening, so that opening can still fail.
public struct FileAccess: Capability, Hashable {
  /// The path of the file or the folder. A path without a leading slash is relative to the working folder.
  public let path: SystemText
  /// The required permissions.
  public let permissions: Permissions

  /// Creates a capability for a path.
  ///
  /// - Parameters:
  ///   - path: The path of the file or the folder.
  ///   - permissions: The required permissions. An empty set requires only existence.
  public init(_ path: SystemText, _ permissions: Permissions) {
    self.path = path
    self.permissions = permissions
  }

  /// Creates a capability for a path in a string.
  @_disfavoredOverload public init(_ path: String, _ permissions: Permissions) {
    // Disfavored, so that a literal that contains the bytes of a text becomes a text.
    self.init(SystemText(path), permissions)
  }

  /// The permissions and the path: "read, write /var/log/kitten.log".
  public var name: String {
    permissions.isEmpty ? path.description : "\(permissions) \(path)"
  }

  /// Returns whether a file or a folder exists at the path, as far as the process can see. Cancelling the caller has no
  /// effect.
  public func isAvailable() async -> Bool {
    allows(F_OK)
  }

  /// Returns the permissions of the process for the path; none for a missing file. Cancelling the caller has no effect.
  public func authorizationStatus() async -> Status {
    var granted: Permissions = []
    if allows(R_OK) { granted.insert(.read) }
    if allows(W_OK) { granted.insert(.write) }
    if allows(X_OK) { granted.insert(.execute) }
    return Status(granted: granted, needed: permissions)
  }

  /// Does nothing, since there is no prompt. Cancelling the caller has no effect.
  public func requestAuthorization(_ requirement: Void) async {}

  private func allows(_ mode: Int32) -> Bool {
    // No path contains a zero; the system would cut the path there.
    !path.containsZero && path.withCString { access($0, mode) } == 0
  }
}
