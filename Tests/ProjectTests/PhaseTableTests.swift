import TestSupport
import Testing

/// Tests the tables of states and phases in the documentation against the enums and the machine's table of successors.
@Suite struct PhaseTableTests {
  static let page = "Sources/ProcedureKit/ProcedureKit.docc/ProcedureKit.md"
  static let states = "Sources/ProcedureKit/Procedure/ProcedureState.swift"
  static let phases = "Sources/ProcedureKit/Scheduler/Machine/RunPhase.swift"

  static func states(in text: String) -> [String] { text.matches(of: /\n  case (\w+)/).map { String($0.1) } }

  /// Returns the cells of the rows that begin with a word in code font: ``| `waiting` | for a slot | `executing` |``.
  static func rows(in text: String) -> [[String]] {
    text.split(separator: "\n").filter { $0.contains(/^(?:\/\/\/ )?\| `\w+`/) }.map {
      $0.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map { String($0).trimmed }
    }
  }

  /// Returns the words in the last cell of each row, by the word in the first cell.
  static func lastCells(in text: String) -> [String: Set<String>] {
    Dictionary(rows(in: text).map { (words($0[0]).first ?? "", words($0[$0.count - 1])) }) { $0.union($1) }
  }

  /// Returns the phases that may follow each phase: `case .ready: [.starting, .finishing]`.
  static func successors(in text: String) -> [String: Set<String>] {
    Dictionary(text.matches(of: /case \.(\w+): \[(.*)\]/).map { (String($0.1), words(String($0.2))) }) { $0.union($1) }
  }

  /// Returns the states that may follow each state, derived from the state that a run has in each phase. Only from `pausing` can a state go
  /// back.
  static func successors(
    _ phases: [String: Set<String>], _ statesOfPhase: [String: Set<String>], order: [String]
  ) -> [String: Set<
    String
  >] {
    var result: [String: Set<String>] = [:]
    for (phase, next) in phases {
      let following = next.reduce(into: Set<String>()) { $0.formUnion(statesOfPhase[$1] ?? []) }
      for state in statesOfPhase[phase] ?? [] {
        let index = order.firstIndex(of: state) ?? 0
        let later = following.filter { state == "pausing" && $0 != state || (order.firstIndex(of: $0) ?? 0) > index }
        result[state, default: []].formUnion(later)
      }
    }
    return result
  }

  private static func words(_ cell: String) -> Set<String> {
    Set(cell.matches(of: /\w+/).map { String($0.0) }).subtracting(["or"])
  }

  @Test("The landing page lists the states in order, with the successors that the machine allows")
  func table() throws {
    let (page, text) = (try Checkout.text(of: Self.page), try Checkout.text(of: Self.phases))
    let states = Self.states(in: try Checkout.text(of: Self.states))
    let phases = Self.successors(in: text)
    #expect(!states.isEmpty)
    #expect(Self.rows(in: page).map { $0[0] } == states.map { "`\($0)`" })
    #expect(Set(Self.lastCells(in: text).keys) == Set(phases.keys))
    #expect(Self.lastCells(in: page) == Self.successors(phases, Self.lastCells(in: text), order: states))
  }

  @Test("Tables with different contents are distinguished")
  func reading() {
    let page = "| state | the run | next |\n|---|---|---|\n| `a` | goes | `b`, `c` |\n| `b` | ends | |"
    let phases = ["x": Set(["y", "z"]), "y": ["w"], "w": ["x"]]
    let statesOfPhase = ["x": Set(["a"]), "w": ["a"], "y": ["b"], "z": ["c"]]
    #expect(Self.lastCells(in: page) == ["a": ["b", "c"], "b": []])
    #expect(Self.successors(phases, statesOfPhase, order: ["a", "b", "c"]) == ["a": ["b", "c"], "b": []])
    #expect(Self.successors(in: "    case .a: [.b, .c]\n    case .c: []") == ["a": ["b", "c"], "c": []])
    #expect(Self.states(in: "enum E {\n  /// A.\n  case a\n  case b\n}") == ["a", "b"])
  }
}
