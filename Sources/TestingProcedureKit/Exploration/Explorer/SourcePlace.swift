/// A place in the source code at which a step of a schedule begins.
public struct SourcePlace: Hashable, Sendable, CustomStringConvertible {
  /// The function, such as `Account.withdraw(_:)`, or `closure #1 in Account.withdraw(_:)`.
  public var function: String

  /// The path of the file.
  public var file: String

  /// The number of the line, counting from `1`.
  public var line: Int

  /// Creates a place from the name of a symbol. Parts of the name that do not appear in source code are removed.
  init(function: String, file: String, line: Int) {
    var function = function
    for part in [
      "partial apply for ", "specialized ", "variable initialization expression of ", "static ", "@Sendable ",
    ] {
      function.replace(part, with: "")
    }
    function.replace(/implicit closure #\d+ in\s/, with: "")
    if function.hasSuffix(" in ") { function.removeLast(4) }
    self.function = function
    self.file = file
    self.line = line
  }

  /// The name of the file, without its directory, and the line.
  public var location: String { "\(file.split(separator: "/").last ?? ""):\(line)" }

  /// The function and the location.
  public var description: String { "\(function) \(location)" }
}
