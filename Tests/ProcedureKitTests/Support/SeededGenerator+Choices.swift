import TestingProcedureKit

extension SeededGenerator {
  /// Whether something of this probability happens.
  mutating func chance(percent: Int) -> Bool {
    below(100) < percent
  }

  mutating func pick<Element>(from elements: [Element]) -> Element {
    elements[below(elements.count)]
  }
}
