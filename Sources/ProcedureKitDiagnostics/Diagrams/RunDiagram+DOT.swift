import ProcedureKit

extension RunDiagram {
  /// The diagram in DOT, the language of [Graphviz](https://graphviz.org).
  ///
  /// - Complexity: O(n) for n runs and arrows.
  public var dot: String {
    var lines = ["digraph runs {", "  compound=true; node [shape=box, style=filled];"]
    addDOT(of: -1, indentation: "  ", &lines)
    if omittedCount > 0 { lines.append("  more [label=\"and \(omittedCount) more\", shape=plaintext, style=\"\"];") }
    for arrow in arrows {
      var attributes: [String] = []
      // An arrow must connect nodes. With these attributes, Graphviz clips the arrow at the border of the surrounding box.
      if parts[arrow.from] != nil { attributes.append("ltail=cluster\(arrow.from)") }
      if parts[arrow.to] != nil { attributes.append("lhead=cluster\(arrow.to)") }
      if arrow.isCritical { attributes.append("penwidth=4") }
      let list = attributes.isEmpty ? "" : " [\(attributes.joined(separator: ", "))]"
      lines.append("  r\(anchor(of: arrow.from)) -> r\(anchor(of: arrow.to))\(list);")
    }
    return (lines + ["}"]).joined(separator: "\n") + "\n"
  }

  private func addDOT(of box: Int, indentation: String, _ lines: inout [String]) {
    for index in parts[box, default: []] {
      let label = label(of: runs[index])
      let colours = Self.colours(of: runs[index].outcome)
      let text = "\"" + DiagramText.dot(label.name) + (label.time.map { "\\n" + DiagramText.dot($0) } ?? "") + "\""
      let width = critical.contains(index) ? 4 : 1
      guard parts[index] != nil else {
        lines.append(
          "\(indentation)r\(index) [label=\(text), fillcolor=\"\(colours.fill)\", color=\"\(colours.stroke)\", "
            + "penwidth=\(width)];")
        continue
      }
      lines.append("\(indentation)subgraph cluster\(index) {")
      lines.append("\(indentation)  label=\(text); color=\"\(colours.stroke)\"; penwidth=\(width);")
      addDOT(of: index, indentation: indentation + "  ", &lines)
      lines.append("\(indentation)}")
    }
  }

  /// Returns the index of the run to which the arrows of a run are attached. If the run is drawn as a box, they are attached to the first
  /// run in the box.
  private func anchor(of index: Int) -> Int {
    var index = index
    while let first = parts[index]?.first { index = first }
    return index
  }
}
