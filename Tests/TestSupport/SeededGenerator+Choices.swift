package import TestingProcedureKit

extension SeededGenerator {
  /// Returns `true` with the given probability.
  package mutating func chance(percent: Int) -> Bool {
    below(100) < percent
  }

  package mutating func pick<Element>(from elements: [Element]) -> Element {
    elements[below(elements.count)]
  }
}
