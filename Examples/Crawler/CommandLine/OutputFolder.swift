import Foundation

/// The folder for the pages.
struct OutputFolder {
  let url: URL

  /// Creates the folder, unless the folder is there.
  ///
  /// - Throws: ``UsageError``.
  init(_ path: String) throws(UsageError) {
    url = URL(filePath: path, directoryHint: .isDirectory)
    do {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    } catch {
      throw UsageError("\(path): cannot be made a folder for the pages: \(error.localizedDescription)")
    }
  }

  /// Removes the folder with all files.
  func remove() {
    try? FileManager.default.removeItem(at: url)
  }
}
