import ProcedureKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ShortTextTests {
  /// Tests texts that would do harm on a terminal or in a message.
  static let hostile = [
    "\u{1b}[2J", "a\u{9b}31mb", "\u{0}", "a\rb", "a\r\nb", "two\nlines", "\u{85}\u{2028}\u{2029}\u{b}\u{c}", "\u{7f}",
    "\u{202e}cba", "\u{2066}\u{200f}\u{61c}", "\u{feff}\u{200b}\u{ad}", "\u{e0001}", "\u{1b}]0;title\u{7}",
    "<script>alert(1)</script>", "\"];\nn9 --> n0", "%%{init: {}}%%", "&lt;", "\\\"", "`end`",
    "x\"\u{200d}, URL=\"y", "\\\u{301}\"\u{301}];",
    String(repeating: "x", count: TestDepth.size(2_000_000)),
    "a" + String(repeating: "\u{301}", count: TestDepth.size(100_000)),
  ]

  @Test("Names are listed as in a sentence")
  func sentenceLists() {
    let names = ["a", "b", "c"]
    #expect((0...3).map { Array(names.prefix($0)).sentenceList } == ["", "a", "a and b", "a, b and c"])
  }

  private func isHarmless(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: false
      case .format: ["\u{200c}", "\u{200d}"].contains(scalar)
      default: true
      }
    }
  }

  @Test(
    "A short text contains no control characters, no line breaks, and no characters that change the direction of text",
    arguments: hostile)
  func oneLine(_ text: String) {
    #expect(isHarmless(text.inOneLine))
    #expect(isHarmless(text.shortened(to: 20)) && text.shortened(to: 20).count <= 20)
    #expect(text.shortened(to: 20).utf8.count < 1_000)
    #expect(isHarmless(text.quoted) && text.quoted.count <= 202)
    #expect(text.inLines.split(separator: "\n").allSatisfy { isHarmless(String($0)) })
  }

  @Test("Plain text, accents, emoji and letters of all scripts are not changed")
  func plain() {
    for text in ["", "compile a.c", "caf\u{e9} cafe\u{301}", "👩🏽‍👩🏿‍👧🏻‍👦🏼", "می‌خواهم", "子猫", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}"] {
      #expect(text.inOneLine == text && text.inLines == text && text.shortened(to: 20) == text)
    }
    #expect("a\nb\r\nc\n".inLines == "a\nb\nc\n")
    #expect("a\tb\u{1b}c".inOneLine == "a b c")
  }

  @Test("Descriptions of errors, runs, events and snapshots show each name on one line", arguments: hostile)
  func descriptions(_ name: String) async throws {
    let queue = ProcedureQueue(name)
    let procedure = ProcedureTask(name) { throw CancellationError() }
    #expect(isHarmless("\(procedure)"))
    let handle = queue.add(procedure.condition(name) { false })
    for await event in handle.events { #expect(isHarmless("\(event)")) }
    let outcome = await handle.outcome
    #expect(isHarmless("\(outcome)"))
    let error = await #expect(throws: ProcedureError.self) { try await handle.value }
    #expect(isHarmless(error.debugDescription))
    #expect(isHarmless("\(ProcedureIdentity(id: handle.id, name: name))"))
    let waiting = ProcedureQueue(ProcedureQueue.Configuration(name, isSuspended: true))
    let last = waiting.add(ProcedureTask(name) {}.keyed(by: name))
    #expect("\(waiting.snapshot())".split(separator: "\n").allSatisfy { isHarmless(String($0)) })
    last.cancel()
    let cycle = #expect(throws: GraphItemsError<String>.self) {
      try ProcedureGraph(name, [name], id: { $0 }, needs: { [$0] }, operation: { _, _ in })
    }
    #expect(cycle.map { isHarmless("\($0)") } == true)
  }

  @Test("Names in diagrams of graphs are only labels", arguments: hostile)
  func diagrams(_ name: String) throws {
    let graph = ProcedureGraph<Void, Void>(name) { g in
      let first = g.add(ProcedureTask(name) {})
      return g.add(ProcedureTask("b") {}, after: [first])
    }
    let node = try Regex(#"  n\d\["[^"<>&`\\%{}\[\]()]*"\]"#).matchingSemantics(.unicodeScalar)
    let arrow = try Regex(#"  n\d --> (n\d|output)"#).matchingSemantics(.unicodeScalar)
    let output = try Regex(#"  output\(\["[^"<>\[\]()]*"\]\)"#).matchingSemantics(.unicodeScalar)
    for line in graph.mermaid.split(separator: "\n").dropFirst() {
      #expect([node, arrow, output].contains { line.wholeMatch(of: $0) != nil }, "\(line.prefix(200))")
    }
    let statement = try Regex(
      #"digraph "(?:[^"\\\n]|\\.)*" \{|  \w+ \[label="(?:[^"\\\n]|\\.)*", shape=(box|ellipse)\];|  n\d -> (n\d|output);|\}"#
    ).matchingSemantics(.unicodeScalar)
    for line in graph.dot.split(separator: "\n") {
      #expect(line.wholeMatch(of: statement) != nil, "\(line.prefix(200))")
    }
    for diagram in [graph.mermaid, graph.dot] {
      #expect(diagram.utf8.count < 10_000)
      #expect(diagram.split(separator: "\n").allSatisfy { isHarmless(String($0)) })
    }
  }
}
