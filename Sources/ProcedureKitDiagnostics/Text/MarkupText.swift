import ProcedureKit

/// Escapes text for use in pages and pictures.
enum MarkupText {
  /// Returns the text in a form that can be used in an element or an attribute of HTML, XML or SVG. Characters that XML does not allow
  /// become U+FFFD.
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
