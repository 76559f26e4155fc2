import Foundation

/// A directory of its own for one test, removed at the end.
struct TemporaryDirectory: ~Copyable {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "kitten-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path(percentEncoded: false)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// A path inside.
  func path(_ name: String) -> String {
    path + "/" + name
  }

  /// Writes a file and returns its path; directories on the way are created.
  @discardableResult
  func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
    let url = URL(filePath: path(name))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
    return path(name)
  }

  /// The names in a directory inside, hidden ones too, sorted.
  func names(in directory: String = "") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(directory)).sorted()
  }

  func bytes(of name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(filePath: path(name))))
  }
}
