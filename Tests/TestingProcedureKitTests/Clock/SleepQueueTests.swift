import Testing

@testable import TestingProcedureKit

@Suite struct SleepQueueTests {
  private func sleep(_ seconds: Int, _ number: UInt64) -> SleepQueue.Sleep {
    SleepQueue.Sleep(deadline: .init(offset: .seconds(seconds)), number: number)
  }

  @Test("Sleeps end in the order of deadlines, and with equal deadlines in the order of registration")
  func order() {
    var generator = SeededGenerator(seed: 1)
    let all = (0..<200).map { sleep(generator.below(20), UInt64($0)) }
    var queue = SleepQueue()
    for each in all.shuffled(using: &generator) { queue.insert(each) }
    let early = queue.removeAll(through: .init(offset: .seconds(9)))
    #expect(early == all.filter { $0.deadline.offset <= .seconds(9) }.sorted())
    #expect(queue.removeAll(through: .init(offset: .seconds(20))) == all.filter { !early.contains($0) }.sorted())
    #expect(queue.count == 0 && queue.first == nil)
  }

  @Test(
    "After any insertions and removals, the queue behaves like a sorted array", arguments: 1...5 as ClosedRange<UInt64>)
  func model(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var queue = SleepQueue()
    var model: [SleepQueue.Sleep] = []
    for number in 0..<600 as Range<UInt64> {
      switch generator.below(8) {
      case 0...3:
        let new = sleep(generator.below(50), number)
        queue.insert(new)
        model.append(new)
        model.sort()
      case 4...6:
        let old = model.randomElement(using: &generator) ?? sleep(1, number)
        #expect(queue.remove(old) == model.contains(old))
        model.removeAll { $0 == old }
      default:
        let due = model.prefix(generator.below(3))
        if let last = due.last {
          let all = model.filter { $0.deadline <= last.deadline }
          #expect(queue.removeAll(through: last.deadline) == all)
          model.removeAll { all.contains($0) }
        }
      }
      #expect(queue.first == model.first && queue.count == model.count, "seed \(seed), operation \(number)")
    }
  }

  @Test("A sleep can be removed only once")
  func removal() {
    var queue = SleepQueue()
    queue.insert(sleep(3, 1))
    queue.insert(sleep(3, 2))
    queue.insert(sleep(1, 3))
    let removals = [sleep(3, 1), sleep(3, 1), sleep(2, 2)].map { queue.remove($0) }
    #expect(removals == [true, false, false])
    #expect(queue.removeAll(through: .init(offset: .seconds(3))) == [sleep(1, 3), sleep(3, 2)])
  }
}
