import Testing

@testable import TestingProcedureKit

@Suite struct SleepQueueTests {
  private func nap(_ seconds: Int, _ number: UInt64) -> SleepQueue.Sleep {
    SleepQueue.Sleep(deadline: .init(offset: .seconds(seconds)), number: number)
  }

  @Test("Sleeps come out by deadline, those of one deadline by registration")
  func order() {
    var generator = SeededGenerator(seed: 1)
    let all = (0..<200).map { nap(generator.below(20), UInt64($0)) }
    var queue = SleepQueue()
    for each in all.shuffled(using: &generator) { queue.insert(each) }
    let early = queue.removeAll(through: .init(offset: .seconds(9)))
    #expect(early == all.filter { $0.deadline.offset <= .seconds(9) }.sorted())
    #expect(queue.sleeps == all.filter { $0.deadline.offset > .seconds(9) }.sorted())
  }

  @Test("A sleep is removed once")
  func removal() {
    var queue = SleepQueue()
    queue.insert(nap(3, 1))
    queue.insert(nap(3, 2))
    queue.insert(nap(1, 3))
    let removals = [nap(3, 1), nap(3, 1), nap(2, 2)].map { queue.remove($0) }
    #expect(removals == [true, false, false])
    #expect(queue.sleeps == [nap(1, 3), nap(3, 2)])
  }
}
