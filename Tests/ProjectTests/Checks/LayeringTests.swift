import Testing

@Suite struct LayeringTests {
  /// The folders of the core, the lowest first: a file may name what its own folder and those before it declare.
  static let core = Layering(
    module: "Sources/ProcedureKit",
    order: [
      "Lifecycle",
      "Engine/Machine",
      "Engine/Tasks",
      "Schedule",
      "Events",
      "Logging",
      "Conditions",
      "Resources",
      "Procedure",
      "Resilience",
      "Capabilities",
      "Engine/Runtime",
      "Queue",
      "Graph",
      "Modifiers",
    ])

  @Test("No file of the core names a type of a folder above its own")
  func coreIsLayered() {
    Finding.record(Self.core.findings(in: Checkout.files(under: Self.core.module)))
  }

  private func findings(_ files: [String: String]) -> [String] {
    Layering(module: "Sources/M", order: ["Low", "High"])
      .findings(in: files.sorted { $0.key < $1.key }.map { SourceFile("Sources/M/\($0.key)", $0.value) })
      .map { "\($0.path.dropFirst("Sources/M/".count)):\($0.line) \($0.message.split(separator: " ")[1])" }
  }

  @Test(
    "Naming a type of a folder above is found",
    arguments: [
      "struct A {\n  var b: High }", "func f(\n  _: [High]) {}", "extension\n  High {}", "let a = M\n  .High()",
      "let text = \"\"\"\n  \\(High())\n  \"\"\"", "struct A { enum State {} }\nlet b: High.Inner? = nil",
      "struct A<T> where T:\n High {}", "struct A<High> {}\nvar b: High?",
    ])
  func upward(_ source: String) {
    let found = findings(["Low/A.swift": source, "High/High.swift": "struct High { struct Inner {} }"])
    #expect(found == ["Low/A.swift:2 \(source.contains("Inner") ? "High.Inner," : "High,")"])
  }

  @Test("A nested type that a folder above adds to a lower type is found, qualified and inside the type")
  func upwardToNested() {
    let low = "struct Low {}\nvar a: Low.Part?\nextension Low {\n  var b: Part? { nil }\n}"
    let found = findings(["Low/Low.swift": low, "High/Low+Part.swift": "extension Low { struct Part {} }"])
    #expect(found == ["Low/Low.swift:2 Low.Part,", "Low/Low.swift:4 Low.Part,"])
  }

  @Test(
    "What only reads like a type of a folder above is left alone",
    arguments: [
      "// High\n/* High /* High */ High */\n/// High", "let a = \"High\" + #\"\\(High)\"#",
      "let a = \"\"\"\nHigh\n\"\"\"",
      "struct A<High> { var b: High }", "func f<each High>(_ h: repeat each High) {}",
      "struct A { enum High {}; var b: High }",
      "struct A {}\nextension A { struct High {} }\nextension A { var b: High? { nil } }", "let a = b.High",
      "protocol P { associatedtype High }\nfunc f<Q: P>() where Q.High == Int {}",
      "func f() { struct High {}; _ = High() }",
      "private struct High {}\nlet a = High()", "struct HighRise {}", "let a = /High/", "let Highest = 1",
    ])
  func innocent(_ source: String) {
    #expect(findings(["Low/A.swift": source, "High/High.swift": "struct High {}"]) == [])
  }

  @Test("Naming downwards, sideways and what no folder declares is allowed")
  func downward() {
    let high = "struct High { var a: Low; var b: Other; var c: Set<Int> }"
    #expect(findings(["Low/Low.swift": "struct Low {}", "High/H.swift": high, "High/O.swift": "enum Other {}"]) == [])
  }

  @Test("A file in a folder that the order forgets is found")
  func forgottenFolder() {
    #expect(findings(["New/A.swift": "", "B.swift": ""]) == ["B.swift:1 in", "New/A.swift:1 in"])
  }
}
