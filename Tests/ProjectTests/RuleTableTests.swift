import TestSupport
import Testing

/// Tests the table of rules in the guide *How it works*, and where tests cite the rules.
@Suite struct RuleTableTests {
  static let page = "Sources/ProcedureKit/ProcedureKit.docc/HowItWorks.md"
  /// The folders for the tests of rules: each rule in all ways of running, and in many schedules. The explored engine is a separate build.
  static let folders = [
    "Tests/ProcedureKitTests/Ways/", "Tests/TestingProcedureKitTests/CoreRules/",
    "Tests/TestingProcedureKitTests/TimeRules/", "Tests/ExploredEngineTests/",
  ]

  struct Row: Equatable {
    var rule: String
    /// The paths of the files that decide the rule.
    var deciding: [String]
    /// The paths of the other files.
    var others: [String]
  }

  static func rows(in text: String) -> [Row] {
    text.split(separator: "\n").compactMap { line in
      guard let match = line.firstMatch(of: /^\| ([A-Z]\d)[:,]/) else { return nil }
      let cells = line.replacing("\\|", with: "").split(separator: "|")
      func paths(_ index: Int) -> [String] {
        guard cells.indices.contains(index) else { return [] }
        return cells[index].matches(of: /`([\w\/+.]+\.swift)`/).map { "Sources/ProcedureKit/\($0.1)" }
      }
      return Row(rule: String(match.1), deciding: paths(1), others: paths(2))
    }
  }

  static func cites(_ text: String, _ rule: String) -> Bool {
    text.matches(of: /\b[A-Z]\d\b/).contains { $0.0 == rule }
  }

  /// Returns the rules that the title of a test or a suite begins with: `L1`, `L5/R1–R4, L4`, `Rules C1 to C6`.
  static func rules(inTitleOf line: String) -> [String] {
    guard line.has(": "), line.has("\""), let title = line.firstMatch(of: /"(?:Rules? )?((?:L5\/)?[A-Z]\d\b[^":]*):/)
    else { return [] }
    return title.1.matches(of: /[A-Z]\d/).map { String($0.0) }
  }

  @Test("Each row of the table names a file that decides the rule and cites its number, and all its files exist")
  func table() throws {
    let rows = Self.rows(in: try Checkout.text(of: Self.page))
    #expect(rows.count > 50)
    for row in rows {
      #expect(!row.deciding.isEmpty, "\(row)")
      #expect((row.deciding + row.others).filter { !Checkout.exists($0) } == [], "\(row.rule)")
      for path in row.deciding where Checkout.exists(path) {
        #expect(Self.cites(try Checkout.text(of: path), row.rule), "\(path) does not cite \(row.rule)")
      }
    }
  }

  @Test("The titles of tests cite each rule of the table, and only in the folders for the tests of rules")
  func titles() throws {
    let known = Set(Self.rows(in: try Checkout.text(of: Self.page)).map(\.rule))
    var (cited, elsewhere): (Set<String>, [String]) = ([], [])
    for file in try Checkout.files(under: "Tests") where !file.path.hasPrefix("Tests/ProjectTests/") {
      let isForRules = Self.folders.contains { file.path.hasPrefix($0) }
      for (index, line) in file.lines.enumerated() where line.has("@Test(") || line.has("@Suite(") || line.has("    \"")
      {
        let rules = known.intersection(Self.rules(inTitleOf: line))
        if isForRules { cited.formUnion(rules) }
        if !isForRules, !rules.isEmpty { elsewhere.append(file.finding(index, "cites a rule in a title")) }
      }
    }
    #expect(elsewhere == [])
    #expect(known.subtracting(cited) == [])
  }

  @Test("Rows and titles are read")
  func reading() {
    let text =
      "| rule | decided in |\n|---|---|\n| L1, order: `a \\|\\| b` | `A/B+C.swift` (`B.c`) | `../D/E.swift` |\nL2: x"
    let row = Row(
      rule: "L1", deciding: ["Sources/ProcedureKit/A/B+C.swift"], others: ["Sources/ProcedureKit/../D/E.swift"])
    #expect(Self.rows(in: text) == [row])
    #expect(Self.cites("// (L1, L2)", "L2") && !Self.cites("// L12, XL2", "L2"))
    #expect(Self.rules(inTitleOf: #"  @Test("L5/R1, Q2: a run")"#) == ["L5", "R1", "Q2"])
    #expect(Self.rules(inTitleOf: #"@Suite("Rules C1 to C6 under every order: cancelling")"#) == ["C1", "C6"])
    #expect(Self.rules(inTitleOf: #"  @Test("A run: L1")"#) == [])
  }
}
