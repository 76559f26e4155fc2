import Testing

/// The table of states in the documentation, against the enum and the machine's table, which has tests of its own.
@Suite struct PhaseTableTests {
  static let page = "Sources/ProcedureKit/ProcedureKit.docc/ProcedureKit.md"
  static let states = "Sources/ProcedureKit/Lifecycle/ProcedureState.swift"
  static let machine = "Sources/ProcedureKit/Engine/Machine/RunLifecycle.swift"

  static func states(in text: String) -> [String] { text.matches(of: /\n  case (\w+)/).map { String($0.1) } }

  /// The cells of the rows that begin with a word in code font: ``| `waiting` | for a slot | `executing` |``.
  static func rows(in text: String) -> [[String]] {
    text.split(separator: "\n").filter { $0.contains(/^(?:\/\/\/ )?\| `\w+`/) }.map {
      $0.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map { String($0).trimmed }
    }
  }

  /// What may follow each state: all that the last cell of the documentation's rows names.
  static func successors(inPage text: String) -> [Set<String>] { rows(in: text).map { words($0.suffix(1)) } }

  /// The same of the machine's table, whose cells say what an event leads to: `→ evaluating / finishing`.
  static func successors(inMachine text: String) -> [Set<String>] {
    rows(in: text.replacing("→ the one named", with: "→ evaluating / waiting / executing")).map { row in
      words(row.filter { $0.hasPrefix("→") })
    }
  }

  private static func words(_ cells: some Sequence<String>) -> Set<String> {
    Set(cells.flatMap { $0.matches(of: /\w+/).map { String($0.0) } })
  }

  @Test("The landing page lists the states in their order, and what the machine lets follow them")
  func table() throws {
    let (page, machine) = (try Checkout.text(of: Self.page), try Checkout.text(of: Self.machine))
    let states = Self.states(in: try Checkout.text(of: Self.states))
    #expect(!states.isEmpty)
    #expect(Self.rows(in: page).map { $0[0] } == states.map { "`\($0)`" })
    #expect(Self.rows(in: machine).map { $0[0] } == states.map { "`\($0)`" })
    #expect(Self.successors(inPage: page) == Self.successors(inMachine: machine))
  }

  @Test("Tables that say different things are told apart")
  func reading() {
    let page = "| state | the run | next |\n|---|---|---|\n| `a` | goes | `b`, `c` |\n| `b` | ends | |"
    let machine = "/// | state | went | cancelled |\n/// | `a` | → b / c | trap |\n/// | `b` | trap | noted |"
    #expect(Self.successors(inPage: page) == [["b", "c"], []])
    #expect(Self.successors(inPage: page) == Self.successors(inMachine: machine))
    #expect(Self.successors(inPage: page) != Self.successors(inMachine: machine.replacing("→ b / c", with: "→ b")))
    #expect(Self.states(in: "enum E {\n  /// A.\n  case a\n  case b\n}") == ["a", "b"])
  }
}
