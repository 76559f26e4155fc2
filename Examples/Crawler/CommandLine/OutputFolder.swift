import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// The folder for the pages.
struct OutputFolder {
  let url: URL

  /// Creates the folder unless it exists.
  ///
  /// - Throws: ``UsageError`` if the path is invalid or the folder cannot be created.
  init(_ path: String) throws(UsageError) {
    guard let url = SystemText(path).fileURL else {
      throw UsageError("\(path): the path of the current folder is not UTF-8. Pass an absolute path")
    }
    self.url = url
    do {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    } catch {
      throw UsageError("\(path) could not be used as the folder for the pages: \(error.localizedDescription)")
    }
  }

  /// Removes the folder and its contents.
  func remove() {
    try? FileManager.default.removeItem(at: url)
  }
}
