import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// The output directory, and any of its parent directories that did not exist at the start.
struct OutputDirectory: Sendable {
  let path: SystemText

  /// The directories that did not exist, from the innermost outwards.
  private let missing: [SystemText]

  init(_ path: SystemText) {
    self.path = path
    let slash = UInt8(ascii: "/")
    let ends = path.bytes.indices.filter { $0 > 0 && path.bytes[$0] == slash && path.bytes[$0 - 1] != slash }
    let folders = (ends.map { SystemText(bytes: path.bytes[..<$0]) } + (path.bytes.last == slash ? [] : [path]))
    missing = folders.reversed().filter { ![".", ".."].contains($0.lastName) }
      .filter { folder in
        do {
          return try SystemFiles.information(folder) == nil
        } catch {
          return false
        }
      }
  }

  /// Returns the path of a file in the directory.
  func path(of fileName: SystemText) -> SystemText { path.appending(path: fileName) }

  /// Creates the directory if it does not exist.
  ///
  /// - Throws: ``KittenError`` if it cannot be created or written to.
  func create() throws(KittenError) {
    do throws(POSIXError) {
      try SystemFiles.makeFolders(path)
      let status = try SystemFiles.call(path) { access($0, W_OK | X_OK) }
      guard status == 0 else { throw .latest }
    } catch {
      throw .unwritableDirectory(path, SystemError(error))
    }
  }

  /// Removes the directories that did not exist at the start, if they are empty.
  func removeIfUnused() {
    for directory in missing where directory.withCString({ rmdir($0) }) != 0 { return }
  }
}
