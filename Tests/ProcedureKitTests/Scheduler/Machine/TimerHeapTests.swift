import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite struct TimerHeapTests {
  private func instant(_ nanoseconds: Int) -> ProcedureInstant { ProcedureInstant(nanoseconds: Int64(nanoseconds)) }

  @Test(
    "Due timers are returned in the order of their deadlines, and those with equal deadlines in the order of insertion")
  func order() {
    var heap = TimerHeap()
    let ids = [5, 3, 9, 3, 1, 3].map { heap.insert(instant($0)) }
    #expect(heap.nextDeadline == instant(1))
    #expect((0..<9).map { _ in heap.popDue(at: instant(5)) }.compactMap { $0 } == [4, 1, 3, 5, 0].map { ids[$0].slot })
    #expect(heap.count == 1 && heap.nextDeadline == instant(9))
    #expect((0..<2).map { _ in heap.popDue(at: instant(9)) } == [ids[2].slot, nil])
    #expect(heap.isEmpty && heap.nextDeadline == nil)
  }

  @Test("A timer is cancelled only once, and not by the number of a timer that previously had its place")
  func staleNumbers() {
    var heap = TimerHeap()
    let first = heap.insert(instant(1))
    #expect((0..<2).map { _ in heap.cancel(first) } == [true, false])
    let second = heap.insert(instant(1))
    #expect(second.slot == first.slot)
    #expect([first, second, second].map { heap.cancel($0) } == [false, true, false])
    let ids = (0..<5_000).map { heap.insert(instant($0)) }
    while heap.popDue(at: instant(5_000)) != nil {}
    #expect(ids.allSatisfy { !heap.cancel($0) })
  }

  @Test("In random scripts, a heap agrees with a sorted array", arguments: 0..<8)
  func agreesWithModel(_ block: Int) {
    let count = TestDepth.count(50)
    for seed in block * count..<(block + 1) * count {
      var random = SeededGenerator(seed: UInt64(seed))
      if let objection = compare(&random) { Issue.record("seed \(seed): \(objection)") }
    }
  }

  /// Runs one random script, and checks the heap after each step. Returns a description of the first problem.
  private func compare(_ random: inout SeededGenerator) -> String? {
    var heap = TimerHeap()
    var pending: [(id: TimerHeap.ID, deadline: Int)] = []
    var gone: [TimerHeap.ID] = []
    var now = 0
    for step in 0..<300 {
      switch random.below(10) {
      case 0..<5:
        let deadline = now + random.below(20)
        let place = pending.firstIndex { $0.deadline > deadline } ?? pending.count
        pending.insert((heap.insert(instant(deadline)), deadline), at: place)
      case 5, 6:
        guard !pending.isEmpty else { continue }
        let id = pending.remove(at: random.below(pending.count)).id
        gone.append(id)
        guard heap.cancel(id) else { return "step \(step): a pending timer was not found" }
      case 7:
        guard !gone.isEmpty else { continue }
        guard !heap.cancel(random.pick(from: gone)) else { return "step \(step): one that was gone was found" }
      default:
        now += random.below(6)
        while let first = pending.first, first.deadline <= now {
          guard heap.popDue(at: instant(now)) == first.id.slot else { return "step \(step): the wrong one was next" }
          gone.append(pending.removeFirst().id)
        }
        guard heap.popDue(at: instant(now)) == nil else { return "step \(step): one came too early" }
      }
      heap.checkInvariants()
      guard heap.count == pending.count, heap.nextDeadline == pending.first.map({ instant($0.deadline) }) else {
        return "step \(step): count or next deadline differ"
      }
    }
    return nil
  }
}

extension TimerHeap {
  /// Traps if positions and entries contradict each other, an entry precedes its parent, or a slot is lost.
  func checkInvariants() {
    for (position, entry) in heap.heap.entries.enumerated() {
      precondition(heap.positions[Int(entry.index)] == position)
      precondition(position == 0 || heap.heap.entries[(position - 1) / 2].comes(before: entry))
    }
    precondition(free.allSatisfy { heap.positions[Int($0)] == -1 } && free.count + count == heap.positions.count)
  }
}
