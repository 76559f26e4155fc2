import Foundation

/// A file without a name, which goes when nobody has it open any more.
///
/// The input of a program is a file and not a pipe: nobody has to write while the program reads, and a program that
/// does not read its input raises no signal here.
enum UnlinkedFile {
  /// Returns a file with these bytes, open for reading at its beginning.
  static func containing(_ data: Data) throws -> FileHandle {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("ProcedureKit-\(UUID().uuidString)")
    guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
      throw CocoaError(.fileWriteUnknown)
    }
    defer { try? FileManager.default.removeItem(at: url) }
    try data.write(to: url)
    return try FileHandle(forReadingFrom: url)
  }
}
