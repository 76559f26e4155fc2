internal import Foundation
public import ProcedureKit

/// What a program may do with a file or a folder, as a capability: to read, to write, to execute it.
///
/// ```swift
/// let archive = ProcedureTask("archive") { … }
///   .condition(.authorized(for: FileAccess("/var/log/kitten.log", [.read, .write])))
/// ```
///
/// It is *available* where something exists at the path; a symbolic link stands for what it leads to. A file that is yet to
/// be created does not, so ask for its folder: to write in it, and to execute it, which for a folder means to enter it.
///
/// Nobody can be asked for it: there is no prompt for the permissions of a file on Linux, nor on Apple's platforms. So
/// requesting it does nothing, `.authorized(for:)` and `.silent(.authorized(for:))` come to the same, and what is missing
/// fails them at once: the procedure fails with `conditionFailed`, whose `underlying` is the `CapabilityError`. Where macOS
/// protects folders it asks when a file there is first opened, not before; what the sandbox forbids is refused here as well.
///
/// It is what the system says of the process's real user at one moment: on Linux an administrator may read and write
/// everything, and a file can change before it is opened. Opening it may fail all the same.
public struct FileAccess: Capability, Hashable {
  /// Where the file or the folder is. A path that does not begin with a slash begins at the working folder.
  public let path: String
  /// What is needed.
  public let permissions: Permissions

  /// Access to what is at a path.
  ///
  /// - Parameters:
  ///   - path: Where the file or the folder is.
  ///   - permissions: What is needed; nothing but its existence, if they are empty.
  public init(_ path: String, _ permissions: Permissions) {
    self.path = path
    self.permissions = permissions
  }

  /// What is needed and of which file, as in "read, write /var/log/kitten.log".
  public var name: String {
    permissions.isEmpty ? path : "\(permissions) \(path)"
  }

  /// Whether something exists at the path, as far as the process can see. Cancelling the caller changes nothing.
  public func isAvailable() async -> Bool {
    FileManager.default.fileExists(atPath: path)
  }

  /// What the process may do with what is at the path; nothing, if there is nothing. Cancelling the caller changes nothing.
  public func authorizationStatus() async -> Status {
    let files = FileManager.default
    var granted: Permissions = []
    if files.isReadableFile(atPath: path) { granted.insert(.read) }
    if files.isWritableFile(atPath: path) { granted.insert(.write) }
    if files.isExecutableFile(atPath: path) { granted.insert(.execute) }
    return Status(granted: granted, needed: permissions)
  }

  /// Does nothing, since nobody can be asked. Cancelling the caller changes nothing.
  public func requestAuthorization(_ requirement: Void) async {}
}
