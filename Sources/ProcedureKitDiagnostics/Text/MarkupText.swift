import ProcedureKit

/// A namespace for the function that escapes text for use in HTML pages and SVG pictures.
enum MarkupText {
  /// Returns the text in a form that can be used in elements and attributes of HTML, XML and SVG. Characters that XML does not allow are
  /// replaced with U+FFFD.
  static func escape(_ text: some StringProtocol) -> String {
    text.replacingScalars { scalar in
      switch scalar {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\"": "&quot;"
      case "'": "&#39;"
      case "\t", "\n", "\r": nil
      case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": "\u{FFFD}"
      default: nil
      }
    }
  }
}
