import Testing

@testable import ProcedureKit

extension StressTests {
  @Test("1,000,000 pending timers take at most 100 bytes each, with what they call, and give them back")
  func pendingTimers() throws {
    let count = 1_000_000
    let timers = Timers(time: QueueTime(ContinuousClock()), executor: nil)
    let target = Target()
    _ = timers.schedule(after: .seconds(3_600)) { _ = target }
    let before = try #require(ResidentMemory.bytes)
    let clock = ContinuousClock()
    let start = clock.now
    var ids: [TimerHeap.ID] = []
    ids.reserveCapacity(count)
    for number in 0..<count { ids.append(timers.schedule(after: .seconds(3_601 + number % 7)) { _ = target }) }
    let inserted = clock.now
    let used = try #require(ResidentMemory.bytes) - before - count * MemoryLayout<TimerHeap.ID>.stride
    for id in ids { timers.cancel(id) }
    let end = clock.now
    let (setting, cancelling) = ((inserted - start) / count, (end - inserted) / count)
    print("stress: timers: \(used / count) bytes each, set in \(setting), cancelled in \(cancelling)")
    #expect(used <= 100 * count)
    #expect(timers.count == 1)
  }

  private final class Target: Sendable {}
}
