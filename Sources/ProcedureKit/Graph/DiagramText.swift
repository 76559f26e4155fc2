/// Names as labels in the languages of diagrams: one line of a limited length, in which no character has a meaning.
package enum DiagramText {
  /// How many characters of a name a diagram shows.
  package static let limit = 200

  /// Returns the content of a quoted label of Mermaid.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - limit: The largest number of characters.
  /// - Returns: The text, with every character that means something anywhere in Mermaid or HTML as an entity of Mermaid.
  package static func mermaid(_ name: String, limit: Int = limit) -> String {
    name.shortened(to: limit).replacingScalars { scalar in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", " ", ".", ",", "-", "_", "/": nil
      case "\"": "#quot;"
      case "<": "#lt;"
      case ">": "#gt;"
      default: scalar.isASCII ? "#\(scalar.value);" : nil
      }
    }
  }

  /// Returns the content of a quoted label of Graphviz, which also knows the entities of HTML there.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - limit: The largest number of characters.
  /// - Returns: The text.
  package static func dot(_ name: String, limit: Int = limit) -> String {
    name.shortened(to: limit).replacingScalars { scalar in
      switch scalar {
      case "&": "&amp;"
      case "\\": "\\\\"
      case "\"": "\\\""
      default: nil
      }
    }
  }
}
