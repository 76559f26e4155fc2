extension ProcedureGraph {
  /// The graph as a Mermaid flowchart. Nodes are labelled with their names, and dotted arrows represent dependencies that accept a failure.
  ///
  /// A name occupies one line of at most 200 characters. Characters that have a special meaning in Mermaid or HTML are written as entities,
  /// and control characters as spaces, so that no name can break the diagram or affect a terminal.
  ///
  /// Values that bodies request by key are not known before a run. After the run, `RunDiagram` in `ProcedureKitDiagnostics` can draw them.
  public var mermaid: String {
    let lines = diagram { key, name, isValue in
      let name = DiagramText.mermaid(name)
      return isValue ? "  \(key)([\"\(name)\"])" : "  \(key)[\"\(name)\"]"
    } arrow: { from, to, isDotted in
      "  \(from) \(isDotted ? "-.->" : "-->") \(to)"
    }
    return (["flowchart TD"] + lines).joined(separator: "\n")
  }

  /// The graph in the DOT language of Graphviz. Dotted arrows represent dependencies that accept a failure. Names are shortened as in
  /// ``mermaid``.
  public var dot: String {
    let lines = diagram { key, name, isValue in
      "  \(key) [label=\(Self.dotString(name)), shape=\(isValue ? "ellipse" : "box")];"
    } arrow: { from, to, isDotted in
      "  \(from) -> \(to)\(isDotted ? " [style=dotted]" : "");"
    }
    return (["digraph \(Self.dotString(name)) {"] + lines + ["}"]).joined(separator: "\n")
  }

  private static func dotString(_ text: String) -> String {
    "\"\(DiagramText.dot(text))\""
  }

  /// Returns a line for each node, followed by a line for each arrow. The graph's input and output are drawn as values, not as nodes.
  private func diagram(
    node line: (_ key: String, _ name: String, _ isValue: Bool) -> String,
    arrow: (_ from: String, _ to: String, _ isDotted: Bool) -> String
  ) -> [String] {
    let consumers = plan.traits.indices.filter { plan.inputs(of: Int32($0)).contains(0) }
    var nodes = consumers.isEmpty ? [] : [line("input", "\(Input.self)", true)]
    var arrows = consumers.map { arrow("input", "n\($0)", false) }
    for (node, traits) in plan.traits.enumerated() {
      nodes.append(line("n\(node)", traits.name, false))
      for edge in plan.shape.successors[plan.shape.successorRange(of: Int32(node))] {
        arrows.append(arrow("n\(node)", "n\(edge >> 1)", edge & 1 == 1))
      }
    }
    if !outputNodes.isEmpty { nodes.append(line("output", "\(Output.self)", true)) }
    for node in outputNodes { arrows.append(arrow(node < 0 ? "input" : "n\(node)", "output", isAcceptedOutput)) }
    return nodes + arrows
  }
}

/// A namespace for the functions that convert names into diagram labels. A label is one line of limited length in which no character has a
/// special meaning.
package enum DiagramText {
  /// The default length to which a longer name is shortened, in characters.
  package static let limit = 200

  /// Returns the content of a quoted Mermaid label.
  ///
  /// - Parameters:
  ///   - name: The name to convert.
  ///   - limit: The length to which a longer name is shortened, in characters.
  /// - Returns: The text of the label, in which every character that has a special meaning in Mermaid or HTML is written as a Mermaid
  ///   entity.
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

  /// Returns the content of a quoted Graphviz label. Ampersands are also escaped, because Graphviz interprets HTML entities in labels.
  ///
  /// - Parameters:
  ///   - name: The name to convert.
  ///   - limit: The length to which a longer name is shortened, in characters.
  /// - Returns: The text of the label.
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
