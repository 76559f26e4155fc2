import TestSupport
import Testing

@testable import ProcedureKit

@Suite struct ReadyListTests {
  @Test("Q1: higher priority first, then order of admission, then order of insertion")
  func order() {
    var list = ReadyList()
    for (member, (priority, order)) in [(1, 7), (2, 9), (1, 3), (3, 8), (2, 9), (1, 7), (2, 1)].enumerated() {
      list.insert(Int32(member), priority: UInt8(priority), order: UInt64(order))
      list.checkInvariants()
    }
    #expect(list.first == 3)
    #expect(list.drained() == [3, 6, 1, 4, 2, 0, 5])
    #expect(list.isEmpty && list.first == nil && list.popFirst() == nil)
  }

  @Test("Q1: what belongs to earlier work is placed before what came later, wherever that stands")
  func inheritedOrder() {
    var list = ReadyList()
    for member in 0..<10 as Range<Int32> { list.insert(member, priority: 5, order: UInt64(member) * 10) }
    list.insert(10, priority: 5, order: 0)
    list.insert(11, priority: 5, order: 45)
    list.insert(12, priority: 5, order: 90)
    list.insert(13, priority: 5, order: 45)
    list.checkInvariants()
    #expect(list.drained() == [0, 10, 1, 2, 3, 4, 11, 13, 5, 6, 7, 8, 9, 12])
  }

  @Test("The least priority of those in line is known where nobody was overtaken, and never too high")
  func leastPriority() {
    var list = ReadyList()
    #expect(list.leastPriority == nil)
    for (member, priority) in [7, 3, 5, 3].enumerated() {
      list.insert(Int32(member), priority: UInt8(priority), order: UInt64(member))
    }
    #expect(list.leastPriority == 3)
    list.remove(1)
    #expect(list.leastPriority == 3)
    list.remove(3)
    #expect(list.leastPriority == 5)
    list.insert(4, priority: 7, order: 4)
    list.insert(5, priority: 7, order: 2)
    #expect(list.leastPriority ?? 9 <= 5)
    #expect(list.drained() == [0, 5, 4, 2] && list.leastPriority == nil)
  }

  @Test("A list whose memory was given back can be used again")
  func storageIsReleased() {
    var list = ReadyList()
    for round in 0..<3 as Range<Int32> {
      for member in 0..<100 as Range<Int32> { list.insert(member, priority: UInt8(member % 7), order: UInt64(round)) }
      _ = list.drained()
      list.releaseStorage()
      list.checkInvariants()
      #expect(!list.contains(5))
    }
  }

  @Test("Q1: after random insertions and removals a list agrees with a sorted array", arguments: 0..<8)
  func agreesWithModel(_ block: Int) {
    let count = TestDepth.count(50)
    for seed in block * count..<(block + 1) * count {
      var random = SeededRandom(seed: UInt64(seed))
      if let objection = compare(&random) { Issue.record("seed \(seed): \(objection)") }
    }
  }

  /// One random script, checked after each step. Returns what was wrong.
  private func compare(_ random: inout SeededRandom) -> String? {
    var (list, model) = (ReadyList(), ReadyListModel())
    var admitted: UInt64 = 0
    let priorities = [1, 2, 3, 5].randomElement(using: &random) ?? 1
    for step in 0..<150 {
      let member = Int32.random(in: 0..<24, using: &random)
      let priority = UInt8.random(in: 0..<UInt8(priorities), using: &random) * 60
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5 where !model.contains(member):
        admitted += 1
        let order = Bool.random(using: &random) ? admitted : UInt64.random(in: 0...admitted, using: &random)
        list.insert(member, priority: priority, order: order)
        model.insert(member, priority: priority, order: order)
      case 5, 6:
        guard model.contains(member) else { continue }
        list.remove(member)
        model.remove(member)
      case 7:
        let expected = model.entries.first?.member
        if let expected { model.remove(expected) }
        guard list.popFirst() == expected else { return "step \(step): \(expected ?? -1) should have come first" }
      case 8 where model.entries.isEmpty: list.releaseStorage()
      default: break
      }
      list.checkInvariants()
      let order = UInt64.random(in: 0...admitted + 1, using: &random)
      guard list.first == model.entries.first?.member, list.count == model.entries.count,
        list.isEmpty == model.entries.isEmpty, list.contains(member) == model.contains(member),
        (list.leastPriority == nil) == model.entries.isEmpty,
        list.leastPriority ?? 0 <= model.entries.last?.priority ?? 0,
        list.hasMember(before: priority, order) == model.hasMember(before: priority, order)
      else { return "step \(step): not \(model.entries)" }
    }
    return list.drained() == model.entries.map(\.member) ? nil : "drained in another order than \(model.entries)"
  }

  @Test("A member can neither be inserted twice nor be removed twice, and memory is in use while anything is there")
  func trapsOnMisuse() async {
    await #expect(processExitsWith: .failure) {
      var list = ReadyList()
      list.insert(3, priority: 1, order: 1)
      list.insert(3, priority: 2, order: 2)
    }
    await #expect(processExitsWith: .failure) {
      var list = ReadyList()
      list.insert(3, priority: 1, order: 1)
      list.remove(3)
      list.remove(3)
    }
    await #expect(processExitsWith: .failure) {
      var list = ReadyList()
      list.insert(3, priority: 1, order: 1)
      list.releaseStorage()
    }
  }
}

extension ReadyList {
  /// Takes out all members, the next one first.
  mutating func drained() -> [Int32] {
    var members: [Int32] = []
    while let member = popFirst() { members.append(member) }
    return members
  }
}
