import Foundation
import Synchronization
import TestSupport
import Testing

extension Checkout {
  /// The files that have been read, because several tests read the same ones.
  private static let files = Mutex<[String: TextFile]>([:])

  private static func file(_ path: String) throws -> TextFile {
    if let file = files.withLock({ $0[path] }) { return file }
    let file = TextFile(path, try text(of: path))
    files.withLock { $0[path] = file }
    return file
  }

  static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appending(path: path).path)
  }

  /// Returns the sorted files in the given folders whose paths have the given suffix.
  ///
  /// - Throws: An error if there is no such file, because a check of no files cannot fail.
  static func files(under folders: String..., ending: String = ".swift") throws -> [TextFile] {
    let paths = folders.flatMap { folder in
      let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
      return names?.compactMap { $0 as? String }.map { "\(folder)/\($0)" } ?? []
    }
    let found = paths.filter { $0.hasSuffix(ending) && !$0.contains("/.") }.sorted()
    try #require(!found.isEmpty, "There is no \(ending) in \(folders)")
    return try found.map(file)
  }
}
