import ProcedureKit
import TestingProcedureKit

/// The bodies that hold each resource, with checks of their exclusion.
///
/// A body and its nested runs may hold the same resource. The name of a nested run begins with the name of the body.
final class ResourceUsage: Sendable {
  private struct Use {
    let name: String
    let wants: RandomWants
  }

  private let uses = Locked<(next: Int, current: [Int: Use])>((0, [:]))
  private let found = Locked<[String]>([])

  var conflicts: [String] { found.value }

  private let most = Locked(0)

  /// The largest number of concurrent holders.
  var mostHolders: Int { most.value }

  /// Records that a body has started, with its claims.
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

  /// Nested runs use the units of the body, so only additional units count.
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
