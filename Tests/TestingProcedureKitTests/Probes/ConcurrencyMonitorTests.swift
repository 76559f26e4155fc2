import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct ConcurrencyMonitorTests {
  @Test("A monitor knows the largest number of concurrent bodies and the overlapping categories")
  func overlaps() async throws {
    let results = Locked<Set<Int>>([])
    try await exploreSchedules(TestDepth.count(200, least: 200)) { env in
      let monitor = ConcurrencyMonitor()
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await monitor.during("disk") { await Task.yield() } }
        group.addTask { await monitor.during("disk", "net") { await Task.yield() } }
        group.addTask { await monitor.during { await Task.yield() } }
      }
      env.check(monitor.current == 0)
      env.check(monitor.total == 3)
      env.check(monitor.overlapped("net", "disk") == (monitor.most(in: "disk") == 2))
      env.check(monitor.overlapped("disk", "disk") == (monitor.most(in: "disk") == 2))
      env.check(!monitor.overlapped("net", "net"))
      env.check(monitor.most(in: "net") == 1)
      let most = monitor.most
      results { _ = $0.insert(most) }
    }
    #expect(results.value == [1, 2, 3])
  }

  @Test("Two spellings of a category are two categories")
  func spellings() {
    let monitor = ConcurrencyMonitor()
    monitor.enter(["caf\u{e9}"])
    monitor.enter(["cafe\u{301}"])
    #expect(monitor.most(in: "caf\u{e9}") == 1 && monitor.most(in: "cafe\u{301}") == 1)
    #expect(monitor.overlapped("cafe\u{301}", "caf\u{e9}") && !monitor.overlapped("caf\u{e9}", "caf\u{e9}"))
    monitor.leave(["cafe\u{301}"])
    #expect(monitor.current == 1)
  }
}
