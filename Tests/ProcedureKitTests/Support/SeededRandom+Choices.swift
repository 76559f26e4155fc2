extension SeededRandom {
  /// A number from 0 up to, but not including, `bound`.
  mutating func below(_ bound: Int) -> Int {
    Int(next() % UInt64(bound))
  }

  /// Whether something of this probability happens.
  mutating func chance(percent: Int) -> Bool {
    below(100) < percent
  }

  mutating func pick<Element>(from elements: [Element]) -> Element {
    elements[below(elements.count)]
  }
}
