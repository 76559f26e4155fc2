/// Which states may follow each state of a run, as a table says.
struct LifecycleSuccessors: Equatable {
  private(set) var byState: [Substring: Set<Substring>] = [:]

  /// Reads rows such as ``| `waiting` | for a slot | `executing`, `finishing` |``.
  init(guide lines: [Substring]) {
    for cells in lines.compactMap({ Self.cells(ofRow: $0) }) {
      byState[cells[0]] = Set((cells.last ?? "").split { !$0.isLetter })
    }
  }

  /// Reads rows such as ``/// | `pending` | → evaluating / finishing | trap |``.
  ///
  /// A run that resumes goes on where its pause began: before conditions, before a slot, or before its body.
  init(machine lines: [Substring]) {
    for cells in lines.compactMap({ Self.cells(ofRow: $0.drop { $0 == "/" || $0 == " " }) }) {
      byState[cells[0]] = cells.dropFirst().reduce(into: []) { states, cell in
        guard cell.hasPrefix("→ ") else { return }
        let targets = cell.dropFirst(2)
        let named: Set<Substring> = ["evaluating", "waiting", "executing"]
        states.formUnion(targets == "the one named" ? named : Set(targets.split { !$0.isLetter }))
      }
    }
  }

  /// The cells of a row that begins with a state's name in backticks, which are taken off.
  private static func cells(ofRow line: Substring) -> [Substring]? {
    guard line.hasPrefix("| `") else { return nil }
    var cells = line.split(separator: "|").map(\.trimmed)
    cells[0] = cells[0].dropFirst().dropLast()
    return cells
  }
}
