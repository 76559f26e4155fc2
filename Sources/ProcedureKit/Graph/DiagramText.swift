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
    var label = ""
    for scalar in name.shortened(to: limit).unicodeScalars {
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", " ", ".", ",", "-", "_", "/": label.unicodeScalars.append(scalar)
      case "\"": label += "#quot;"
      case "<": label += "#lt;"
      case ">": label += "#gt;"
      case _ where scalar.isASCII: label += "#\(scalar.value);"
      default: label.unicodeScalars.append(scalar)
      }
    }
    return label
  }

  /// Returns the content of a quoted label of Graphviz, which also knows the entities of HTML there.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - limit: The largest number of characters.
  /// - Returns: The text.
  package static func dot(_ name: String, limit: Int = limit) -> String {
    // Scalar by scalar: a quote with an accent or a joiner is another character for Swift, and a quote for Graphviz.
    var label = ""
    for scalar in name.shortened(to: limit).unicodeScalars {
      switch scalar {
      case "&": label += "&amp;"
      case "\\": label += "\\\\"
      case "\"": label += "\\\""
      default: label.unicodeScalars.append(scalar)
      }
    }
    return label
  }
}
