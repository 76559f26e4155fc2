import Foundation

@testable import ProcedureKit

/// The table in the documentation of ``RunLifecycle``, read from its source file.
struct RunLifecycleTable: Sendable {
  /// What a cell promises.
  enum Entry: Hashable, Codable, Sendable {
    case trap
    case tooLate
    /// The state stays, and the cancel is remembered.
    case noted
    case leads(to: State)
    /// What a satisfied and an unsatisfied verdict lead to.
    case decides(satisfied: State, unsatisfied: State)
    case leadsToTheOneNamed
  }

  struct State: Hashable, Codable, Sendable {
    let name: String

    var value: ProcedureState? { ProcedureState.allCases.first { "\($0)" == name } }
  }

  struct Cell: Hashable, Codable, Sendable, CustomStringConvertible {
    let state: State
    /// The event as the head of the column calls it.
    let event: String
    let text: String

    var description: String { "\(state.name), \(event): \(text)" }

    /// `nil` if the text says nothing that a test understands.
    var entry: Entry? {
      switch text {
      case "trap": return .trap
      case "too late": return .tooLate
      case "noted, goes on": return .noted
      case "→ the one named": return .leadsToTheOneNamed
      default:
        guard text.hasPrefix("→ ") else { return nil }
        let targets = text.dropFirst(2).split(separator: " / ").map { State(name: String($0)) }
        guard targets.allSatisfy({ $0.value != nil }) else { return nil }
        switch targets.count {
        case 1: return .leads(to: targets[0])
        case 2: return .decides(satisfied: targets[0], unsatisfied: targets[1])
        default: return nil
        }
      }
    }
  }

  let events: [String]
  let states: [State]
  let cells: [Cell]

  init(readingFrom path: String) throws {
    let rows = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      .filter { $0.hasPrefix("/// |") && !$0.hasPrefix("/// |--") }
      .map { row in
        row.dropFirst("/// |".count).split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      }
    let head = Array((rows.first ?? []).dropFirst())
    events = head
    states = rows.dropFirst().map { State(name: $0[0].filter { $0 != "`" }) }
    cells = rows.dropFirst().flatMap { row in
      zip(head, row.dropFirst()).map { event, text in
        Cell(state: State(name: row[0].filter { $0 != "`" }), event: event, text: text)
      }
    }
  }

  /// The table as it stands in this checkout.
  static func documented(_ file: String = #filePath) throws -> RunLifecycleTable {
    var root = URL(fileURLWithPath: file)
    while root.path != "/", !FileManager.default.fileExists(atPath: root.appendingPathComponent("Package.swift").path) {
      root.deleteLastPathComponent()
    }
    let source = root.appendingPathComponent("Sources/ProcedureKit/Engine/Machine/RunLifecycle.swift")
    return try RunLifecycleTable(readingFrom: source.path)
  }
}
