import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// A directory for a single test, which is removed when the test ends.
struct TemporaryDirectory: ~Copyable {
  let path: SystemText

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "kitten-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = SystemText(url.path(percentEncoded: false))
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path.description)
  }

  /// Returns the path of a file in the directory.
  func path(_ name: SystemText) -> SystemText {
    path.appending(path: name)
  }

  /// Writes a file, creating its parent directories, and returns its path.
  @discardableResult
  func write(_ bytes: some Sequence<UInt8>, to name: SystemText) throws -> SystemText {
    let path = path(name)
    try SystemFiles.makeFolders(SystemText(bytes: path.bytes.prefix(path.bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0)))
    let descriptor = try SystemFiles.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o666)
    defer { close(descriptor) }
    try SystemFiles.write(Array(bytes), to: descriptor)
    return path
  }

  /// Returns the sorted names in a directory within this one, including hidden names.
  func names(in directory: SystemText = "") throws -> [SystemText] {
    try SystemFiles.names(in: path(directory))
  }

  func bytes(of name: SystemText) throws -> [UInt8] {
    try SystemFiles.contents(path(name))
  }
}
