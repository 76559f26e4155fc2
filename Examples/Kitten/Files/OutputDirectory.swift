import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// The directory to write to, and which directories on the way to it were not there at the start.
struct OutputDirectory: Sendable {
  let path: SystemText

  /// From the innermost outwards.
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

  /// The path of a file in it.
  func path(of fileName: SystemText) -> SystemText { path.appending(path: fileName) }

  /// Creates it where needed.
  ///
  /// - Throws: ``KittenError`` where that is impossible or nothing can be written in it.
  func create() throws(KittenError) {
    do throws(POSIXError) {
      try SystemFiles.makeFolders(path)
      let status = try SystemFiles.call(path) { access($0, W_OK | X_OK) }
      guard status == 0 else { throw .latest }
    } catch {
      throw .unwritableDirectory(path, SystemError(error))
    }
  }

  /// Takes directories away again that were not there at the start, as far as they are empty.
  func removeIfUnused() {
    for directory in missing where directory.withCString({ rmdir($0) }) != 0 { return }
  }
}
