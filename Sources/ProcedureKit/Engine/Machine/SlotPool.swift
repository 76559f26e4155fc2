/// Internal. How many bodies may execute at once, and how many do.
struct SlotPool: Equatable {
  private(set) var width: Int
  private(set) var taken = 0

  init(width: Int) {
    self.width = width
  }

  var hasFree: Bool { taken < width }

  /// Whether more slots are taken than there are, because the pool was made narrower meanwhile.
  var isOverdrawn: Bool { taken > width }

  mutating func take() {
    precondition(hasFree, "SlotPool: a slot was taken where none was free")
    taken += 1
  }

  mutating func giveBack() {
    precondition(taken > 0, "SlotPool: a slot was given back that nobody had taken")
    taken -= 1
  }

  mutating func resize(to width: Int) {
    self.width = width
  }
}
