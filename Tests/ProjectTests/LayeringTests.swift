import Testing

/// The folders of the core, the lowest first: a file may name the types of its own folder and of those before it.
@Suite struct LayeringTests {
  /// A run, the procedure that it executes and its claims know each other: their folders stand side by side.
  static let folders = [
    ["Lifecycle", "Metrics/Values", "Remote/Coding", "Durable/Values"], ["Logging/Messages"], ["Progress/Values"],
    ["Engine/Machine"], ["Engine/Tasks"], ["Schedule"], ["Events"], ["Conditions"],
    ["Resources", "Procedure", "Engine/Runtime", "Logging/Runs", "Progress/Runs"], ["Resilience"], ["Capabilities"],
    ["Queue", "Metrics", "Progress/Reading"], ["Graph"], ["Modifiers"], ["Durable", "Remote"],
  ]

  static func findings(in files: [TextFile]) -> [String] {
    // The top-level types of each folder but private ones, and all types of each folder, which may hide others.
    var ranks: [Substring: Int] = [:]
    var own: [Int: Set<Substring>] = [:]
    for file in files {
      guard let rank = rank(of: file) else { return ["\(file.path) stands in no folder of the list"] }
      for line in file.code {
        guard let name = declaredType(in: line) else { continue }
        own[rank, default: []].insert(name)
        if line.indentation == 0 && !line.has("private ") { ranks[name] = rank }
      }
    }
    return files.flatMap { file in
      let rank = rank(of: file) ?? 0
      let hidden = own[rank, default: []]
      return file.findings { line in
        names(in: line).first { ranks[$0, default: 0] > rank && !hidden.contains($0) }.map { "names \($0), from above" }
      }
    }
  }

  private static func rank(of file: TextFile) -> Int? {
    folders.firstIndex { $0.contains { file.path.hasPrefix("Sources/ProcedureKit/\($0)/") } }
  }

  private static func declaredType(in line: String) -> Substring? {
    let words = line.split { !$0.isLetter && !$0.isNumber }
    let keywords: Set<Substring> = ["actor", "class", "enum", "protocol", "struct", "typealias"]
    return zip(words, words.dropFirst()).first { keywords.contains($0.0) }?.1
  }

  /// The names of types in a line: of `ProcedureKit.A.B(c.D)` this is `A`.
  private static func names(in line: String) -> [Substring] {
    line.split { !$0.isLetter && !$0.isNumber && $0 != "." }.compactMap { name in
      let path = name.split(separator: ".", omittingEmptySubsequences: false)
      return path.first { $0 != "ProcedureKit" }.flatMap { $0.first?.isUppercase == true ? $0 : nil }
    }
  }

  @Test("No file of the core names a type of a folder above its own")
  func core() throws {
    let files = try Checkout.files(under: "Sources/ProcedureKit")
    #expect(Self.findings(in: files) == [])
  }

  @Test(
    "Naming a type of a folder above is found, and what only reads like it is left alone",
    arguments: [
      ("var b: High", 1), ("func f(_: [High]) {}", 1), ("extension High {}", 1), ("let a = ProcedureKit.High()", 1),
      ("let a = High.a + 1", 1), ("let a = \"\\(High())\"", 1), ("var b: Set<High>?", 1), ("// High", 0),
      ("let a = \"High\"", 0), ("let a = b.High", 0), ("struct A {\n  enum High {}\n  var b: High\n}", 0),
      ("private struct High {}\nlet a = High()", 0), ("struct Highest { var Low: Int }", 0),
    ])
  func names(_ source: String, count: Int) {
    let high = TextFile("Sources/ProcedureKit/Queue/B.swift", "struct High {}\nextension Low {}")
    #expect(Self.findings(in: [TextFile("Sources/ProcedureKit/Lifecycle/A.swift", source), high]).count == count)
    #expect(Self.findings(in: [TextFile("Sources/ProcedureKit/New/A.swift", source), high]).count == 1)
  }
}
