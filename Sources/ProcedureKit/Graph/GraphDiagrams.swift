extension ProcedureGraph {
  /// The graph as a Mermaid flowchart: nodes by name, and dotted arrows for dependencies that accept a failure.
  public var mermaid: String {
    let diagram = diagram
    let nodes = diagram.nodes.map { node in
      let name = node.name.replacing("\"", with: "#quot;")
      return node.isValue ? "  \(node.key)([\"\(name)\"])" : "  \(node.key)[\"\(name)\"]"
    }
    let arrows = diagram.arrows.map { "  \($0.from) \($0.isDotted ? "-.->" : "-->") \($0.to)" }
    return (["flowchart TD"] + nodes + arrows).joined(separator: "\n")
  }

  /// The graph in the language of Graphviz: nodes by name, and dotted arrows for dependencies that accept a failure.
  public var dot: String {
    let diagram = diagram
    let nodes = diagram.nodes.map { node in
      "  \(node.key) [label=\(Self.dotString(node.name)), shape=\(node.isValue ? "ellipse" : "box")];"
    }
    let arrows = diagram.arrows.map { "  \($0.from) -> \($0.to)\($0.isDotted ? " [style=dotted]" : "");" }
    return (["digraph \(Self.dotString(name)) {"] + nodes + arrows + ["}"]).joined(separator: "\n")
  }

  private static func dotString(_ text: String) -> String {
    "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
  }

  private var diagram: GraphDiagram {
    var diagram = GraphDiagram()
    if plan.traits.indices.contains(where: { plan.inputs(of: Int32($0)).contains(0) }) {
      diagram.nodes.append(.init(key: "input", name: "\(Input.self)", isValue: true))
    }
    for (index, traits) in plan.traits.enumerated() {
      diagram.nodes.append(.init(key: "n\(index)", name: traits.name, isValue: false))
      if plan.inputs(of: Int32(index)).contains(0) {
        diagram.arrows.append(.init(from: "input", to: "n\(index)", isDotted: false))
      }
    }
    for node in plan.traits.indices {
      for position in plan.shape.successorRange(of: Int32(node)) {
        let edge = plan.shape.successors[position]
        diagram.arrows.append(.init(from: "n\(node)", to: "n\(edge >> 1)", isDotted: edge & 1 == 1))
      }
    }
    if let outputNode {
      diagram.nodes.append(.init(key: "output", name: "\(Output.self)", isValue: true))
      diagram.arrows.append(
        .init(from: outputNode < 0 ? "input" : "n\(outputNode)", to: "output", isDotted: isAcceptedOutput))
    }
    return diagram
  }
}

/// Internal. The nodes and arrows of a graph, for every kind of diagram.
private struct GraphDiagram {
  struct Node {
    let key: String
    let name: String
    /// Whether the entry is the graph's input or output instead of a node.
    let isValue: Bool
  }

  struct Arrow {
    let from: String
    let to: String
    let isDotted: Bool
  }

  var nodes: [Node] = []
  var arrows: [Arrow] = []
}
