public import Foundation

/// The working copy that these tests were compiled from.
public enum Checkout {
  /// The top-level folder.
  public static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

  /// Returns the text of a file.
  ///
  /// - Parameter path: The path, relative to the top-level folder.
  /// - Returns: The text.
  /// - Throws: An error if the file cannot be read, or is not in UTF-8.
  public static func text(of path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }
}
