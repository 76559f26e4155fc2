/// One message of a ``ProcedureLog``, as a handler receives it.
public struct ProcedureLogMessage: Sendable, CustomStringConvertible {
  /// How important the message is.
  public var level: ProcedureLog.Level
  /// The text, in one or more lines.
  public var text: String
  /// The facts that belong to the message, by their names: those of the sender, and those given with the message.
  public var metadata: ProcedureLog.Metadata
  /// The file that sends the message, as `#fileID` gives it.
  public var file: String
  /// The function that sends the message.
  public var function: String
  /// The line that sends the message.
  public var line: UInt

  /// Creates a message.
  public init(
    level: ProcedureLog.Level, text: String, metadata: ProcedureLog.Metadata = [:], file: String = #fileID,
    function: String = #function, line: UInt = #line
  ) {
    (self.level, self.text, self.metadata) = (level, text, metadata)
    (self.file, self.function, self.line) = (file, function, line)
  }

  /// The message in one line: `warning: the disk is full [procedure.id=#42 procedure.name=Save]`.
  ///
  /// Line breaks become spaces and other control characters `U+FFFD`, and characters that change the direction of text are left out, so that no
  /// text can pretend to be another line, or control a terminal. A line has at most 4,096 characters for the text and 256 for each value; a cut ends in "…".
  public var description: String {
    var line = "\(level): \(Self.oneLine(text, limit: 4_096))"
    guard !metadata.isEmpty else { return line }
    let pairs = metadata.sorted { $0.key < $1.key }.map { key, value in
      "\(Self.oneLine(key, limit: 64))=\(Self.oneLine(value, limit: 256))"
    }
    line += " [\(pairs.joined(separator: " "))]"
    return line
  }

  private static func oneLine(_ text: String, limit: Int) -> String {
    let isCut = !text.unicodeScalars.dropFirst(limit).isEmpty
    return text.unicodeScalars.prefix(limit).harmless(control: "\u{FFFD}") + (isCut ? "…" : "")
  }
}
