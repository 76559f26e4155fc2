import ProcedureKit
import TestingProcedureKit

/// The claims of a body in a random program: none, or some of two categories and of one resource with three units.
struct RandomWants: Sendable {
  static let units = Resource("units", capacity: 3)

  private(set) var exclusive: [String] = []
  private(set) var shared: [String] = []
  private(set) var units = 0

  /// Nothing.
  init() {}

  init(using random: inout SeededGenerator) {
    guard random.below(3) == 0 else { return }
    for category in ["a", "b"] {
      switch random.below(5) {
      case 0: exclusive.append(category)
      case 1: shared.append(category)
      default: break
      }
    }
    if random.below(4) == 0 { units = 1 + random.below(3) }
  }

  var isAnything: Bool { !exclusive.isEmpty || !shared.isEmpty || units > 0 }

  func apply(to task: ProcedureTask<Void, Int>) -> ProcedureTask<Void, Int> {
    var task = task
    for category in exclusive { task = task.exclusive(category) }
    for category in shared { task = task.shared(category) }
    return units > 0 ? task.uses(Self.units, units: units) : task
  }
}

extension RandomWants: CustomStringConvertible {
  var description: String {
    (exclusive.map { "\($0)!" } + shared + (units > 0 ? ["\(units) units"] : [])).joined(separator: ", ")
  }
}
