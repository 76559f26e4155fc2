import Foundation

/// The directory to write to, and which directories on the way to it were not there at the start.
struct OutputDirectory: Sendable {
  let path: String

  /// From the innermost outwards.
  private let missing: [URL]

  init(_ path: String) {
    self.path = path
    missing = Array(
      sequence(first: URL(filePath: path, directoryHint: .isDirectory).standardizedFileURL) {
        $0.deletingLastPathComponent().standardizedFileURL
      }
      .prefix { !FileManager.default.fileExists(atPath: $0.path) })
  }

  /// The path of a file in it.
  func path(of fileName: String) -> String {
    path.hasSuffix("/") ? path + fileName : path + "/" + fileName
  }

  /// Creates it where needed.
  ///
  /// - Throws: ``KittenError`` where that is impossible or nothing can be written in it.
  func create() throws(KittenError) {
    var isDirectory: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
      guard isDirectory.boolValue else { throw .unwritableDirectory(path, SystemError(code: ENOTDIR)) }
    } else {
      do {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      } catch {
        throw .unwritableDirectory(path, SystemError(behind: error))
      }
    }
    guard access(path, W_OK | X_OK) == 0 else { throw .unwritableDirectory(path, SystemError.latest) }
  }

  /// Takes directories away again that were not there at the start, as far as they are empty.
  func removeIfUnused() {
    for directory in missing where rmdir(directory.path) != 0 { return }
  }
}
