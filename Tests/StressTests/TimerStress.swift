import Testing
import TestingProcedureKit

@testable import ProcedureKit

extension StressTests {
  @Test(
    "Pending timers take at most 100 bytes each, including their calls, and release the memory",
    .enabled(if: Stress.isAlone))
  func pendingTimers() throws {
    let count = 1_000_000
    let timers = Timers(time: QueueClock(VirtualClock()), executor: nil)
    let target = Target()
    _ = timers.schedule(after: .seconds(3_600)) { _ = target }
    let before = try #require(ResidentMemory.bytes)
    var ids: [TimerHeap.ID] = []
    ids.reserveCapacity(count)
    for number in 0..<count { ids.append(timers.schedule(after: .seconds(3_601 + number % 7)) { _ = target }) }
    let used = try #require(ResidentMemory.bytes) - before - count * MemoryLayout<TimerHeap.ID>.stride
    for id in ids { timers.cancel(id) }
    print("stress: timers: \(used / count) bytes each")
    #expect(used <= 100 * count)
    #expect(timers.count == 1)
  }

  private final class Target: Sendable {}
}
