import Foundation

/// A namespace for the guides of the testing kit, in the working copy that these tests were compiled from.
enum GuidePage {
  /// Returns the lines of the guide in a file, such as `ExploringSchedules.md`.
  static func lines(of file: String) throws -> [String] {
    let catalog = "../../../Sources/TestingProcedureKit/TestingProcedureKit.docc/"
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: catalog + file).standardized
    return try String(contentsOf: url, encoding: .utf8).components(separatedBy: "\n")
  }
}
