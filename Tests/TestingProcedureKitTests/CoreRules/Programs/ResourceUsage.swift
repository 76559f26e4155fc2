import ProcedureKit
import TestingProcedureKit

/// Who executes while holding what, and what of that must not be.
///
/// A body and what is part of it may hold the same: the name of a part begins with the name of the whole.
final class ResourceUsage: Sendable {
  private struct Use {
    let name: String
    let wants: RandomWants
  }

  private let uses = Locked<(next: Int, current: [Int: Use])>((0, [:]))
  private let found = Locked<[String]>([])

  var conflicts: [String] { found.value }

  private let most = Locked(0)

  /// How many have held something at once.
  var mostHolders: Int { most.value }

  /// A body has started, and holds what it wants.
  func starts(_ name: String, _ wants: RandomWants) -> Int {
    uses { state in
      let use = Use(name: name, wants: wants)
      for other in state.current.values where !Self.isPart(name, of: other.name) && !Self.isPart(other.name, of: name) {
        check(use, other)
        check(other, use)
      }
      state.next += 1
      state.current[state.next] = use
      let holders = state.current.values.filter(\.wants.isAnything).count
      most { $0 = max($0, holders) }
      checkUnits(state.current.values.map(\.self))
      return state.next
    }
  }

  func ends(_ use: Int) {
    uses { $0.current[use] = nil }
  }

  private func check(_ use: Use, _ other: Use) {
    for category in use.wants.exclusive where (other.wants.exclusive + other.wants.shared).contains(category) {
      found { $0.append("\(use.name) holds \(category) alone, beside \(other.name)") }
    }
  }

  /// Parts use the units of the whole; only what exceeds these counts.
  private func checkUnits(_ uses: [Use]) {
    let outermost = uses.filter { use in
      !uses.contains { $0.name != use.name && Self.isPart(use.name, of: $0.name) && $0.wants.units > 0 }
    }
    let used = outermost.reduce(0) { $0 + $1.wants.units }
    if used > RandomWants.units.capacity { found { $0.append("\(used) units are used: \(outermost.map(\.name))") } }
  }

  private static func isPart(_ name: String, of whole: String) -> Bool {
    name.hasPrefix(whole) && (name.count == whole.count || ".:".contains(name.dropFirst(whole.count).first ?? "_"))
  }
}
