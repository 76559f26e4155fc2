import ProcedureKit

extension RunDiagram {
  /// The diagram as a [Mermaid](https://mermaid.js.org) flowchart, which many code hosting sites display in Markdown files.
  ///
  /// - Complexity: O(n) for n runs and arrows.
  public var mermaid: String {
    var lines = ["flowchart TD"]
    addMermaid(of: -1, indentation: "  ", &lines)
    if omittedCount > 0 { lines.append("  more[\"and \(omittedCount) more\"]") }
    for arrow in arrows { lines.append("  r\(arrow.from) --> r\(arrow.to)") }
    let thick = arrows.indices.filter { arrows[$0].isCritical }
    if !thick.isEmpty {
      lines.append("  linkStyle \(thick.map(String.init).joined(separator: ",")) stroke-width:4px")
    }
    for outcome in RunRecord.Outcome.allCases.map(Optional.some) + [nil] {
      let members = runs.indices.filter { runs[$0].outcome == outcome }
      guard !members.isEmpty else { continue }
      let (name, colours) = (TimelineStyle.name(of: outcome), Self.colours(of: outcome))
      lines.append("  classDef \(name) fill:\(colours.fill),stroke:\(colours.stroke),color:#222")
      lines.append("  class \(Self.list(members)) \(name)")
    }
    if !critical.isEmpty {
      lines.append("  classDef critical stroke-width:4px")
      lines.append("  class \(Self.list(critical.sorted())) critical")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func addMermaid(of box: Int, indentation: String, _ lines: inout [String]) {
    for index in parts[box, default: []] {
      let label = label(of: runs[index])
      let text = DiagramText.mermaid(label.name) + (label.time.map { "<br/>" + DiagramText.mermaid($0) } ?? "")
      guard parts[index] != nil else {
        lines.append("\(indentation)r\(index)[\"\(text)\"]")
        continue
      }
      lines.append("\(indentation)subgraph r\(index)[\"\(text)\"]")
      addMermaid(of: index, indentation: indentation + "  ", &lines)
      lines.append("\(indentation)end")
    }
  }

  private static func list(_ indices: [Int]) -> String { indices.map { "r\($0)" }.joined(separator: ",") }
}
