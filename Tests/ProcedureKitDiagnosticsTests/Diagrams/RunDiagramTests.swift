import Foundation
import ProcedureKit
import Testing

@testable import ProcedureKitDiagnostics

@Suite(.timeLimit(.minutes(10))) struct RunDiagramTests {
  private struct Failure: Error {}

  private func recording(_ name: String = "mend") async -> RunRecording {
    let recorder = RunRecorder()
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    recorder.record(queue)
    let before = queue.add(ProcedureTask("before") {})
    let graph = ProcedureGraph<Void, Void>("graph") { g in
      let a = g.add(ProcedureTask(name) {})
      let b = g.add(ProcedureTask("tear") { throw Failure() }, after: [a])
      return g.add(ProcedureTask("never") {}, after: [b])
    }
    _ = await queue.add(graph, after: [before]).outcome
    return await recorder.finish()
  }

  @Test("In Mermaid, a graph is a box, outcomes are classes, and the critical path is thick")
  func mermaid() async throws {
    let lines = RunDiagram(await recording()).mermaid.split(separator: "\n").map { String($0) }
    #expect(lines.first == "flowchart TD")
    let box = try #require(lines.firstIndex { $0.hasPrefix("  subgraph r") && $0.contains("graph<br/>") })
    let end = try #require(lines.firstIndex(of: "  end"))
    #expect(lines[box + 1..<end].contains { $0.contains("[\"mend<br/>") })
    #expect(lines[box + 1..<end].contains { $0.contains("[\"✕ tear<br/>") })
    #expect(lines[box + 1..<end].contains { $0.hasSuffix("[\"↷ never\"]") })
    #expect(lines.count { $0.contains(" --> ") } == 3)
    #expect(lines.contains { $0.contains("linkStyle") && $0.hasSuffix("stroke-width:4px") })
    for name in ["finished", "failed", "skipped", "critical"] {
      #expect(lines.count { $0.hasPrefix("  classDef \(name) ") } == 1)
      #expect(lines.count { $0.hasPrefix("  class r") && $0.hasSuffix(" \(name)") } == 1)
    }
  }

  @Test(
    "In Graphviz, a graph is a cluster, colours show outcomes, and arrows end at the cluster's border")
  func dot() async throws {
    let text = RunDiagram(await recording()).dot
    #expect(text.hasPrefix("digraph runs {\n") && text.hasSuffix("}\n"))
    #expect(text.contains("subgraph cluster") && text.contains("lhead=cluster") && text.contains("penwidth=4"))
    #expect(text.contains("label=\"↷ never\", fillcolor=\"#e4e6ea\""))
    #expect(text.count { $0 == "{" } == text.count { $0 == "}" })
  }

  @Test(
    "Names with quotes, line breaks, brackets, directives or a megabyte of text are only labels",
    arguments: hostileNames)
  func hostile(name: String) async throws {
    let diagram = RunDiagram(await recording(name))
    let plain = try Regex(#"  +r\d+\["(?:[^"<>&`\\%{}\[\]]|<br/>)*"\]"#)
    let head = try Regex(#"  subgraph r\d+\["(?:[^"<>&`\\%{}\[\]]|<br/>)*"\]"#)
    let arrow = try Regex(#"  r\d+ --> r\d+"#)
    let style = try Regex(
      ##"  (classDef [a-z]+ [#a-z0-9:,-]+|class [r0-9,]+ [a-z]+|linkStyle [0-9,]+ stroke-width:4px|end)"##)
    for line in diagram.mermaid.split(separator: "\n").dropFirst() {
      #expect([plain, head, arrow, style].contains { line.wholeMatch(of: $0) != nil }, "\(line)")
    }
    let statement = try Regex(
      ##" *(\}|digraph runs \{|subgraph cluster\d+ \{|compound=true; node \[shape=box, style=filled\];|r\d+ -> r\d+( \[[a-z0-9=, ]+\])?;|(r\d+ \[)?label="(?:[^"\\\n]|\\.)*"[^"\n]*("#[0-9a-f]{6}"[^"\n]*)+;?)"##
    )
    for line in diagram.dot.split(separator: "\n") { #expect(line.wholeMatch(of: statement) != nil, "\(line)") }
    // Graphviz would show "&amp;" as "&".
    #expect(diagram.dot.matches(of: /&(?!amp;)/).isEmpty)
    #expect(diagram.mermaid.utf8.count < 10_000)
  }

  @Test(
    "Any recording can be drawn, even with cycles and unknown runs, and runs above the limit are counted",
    arguments: 0..<20)
  func anyRecording(seed: UInt64) {
    var recording = RunRecording.random(count: 10 + Int(seed), slots: 2, seed: seed)
    for index in recording.runs.indices {
      recording.runs[index].dependencies = [recording.runs[(index + 1) % recording.runs.count].id]
      recording.runs[index].parent = recording.runs[(index * 7) % recording.runs.count].id
    }
    let diagram = RunDiagram(recording, limit: 8)
    for text in [diagram.mermaid, diagram.dot] {
      #expect(text.contains("and \(recording.runs.count - 8) more"))
      for index in 0..<8 {
        #expect(text.contains("r\(index)[") || text.contains("r\(index) [") || text.contains("cluster\(index) {"))
      }
    }
  }
}
