import ProcedureKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct QueueFeedTests {
  @Test("A feed that is stopped delivers every earlier event, and then ends", arguments: [0, 1, 100])
  func stopped(count: Int) async throws {
    let queue = ProcedureQueue("fed")
    let feed = queue.feed()
    for _ in 0..<count { try await queue.run(ProcedureTask("one") {}) }
    feed.stop()
    try await queue.run(ProcedureTask("later") {})
    var finished: [String] = []
    while let event = await feed.next() { if event.kind == .didFinish { finished.append(event.name) } }
    #expect(finished.filter { $0 == "one" }.count == count)
  }

  @Test("A stop, a cancellation and the end of the queue end a wait for events")
  func ends() async {
    for way in ["stop", "cancel", "end"] {
      for _ in 0..<50 {
        var queue: ProcedureQueue? = ProcedureQueue("fed")
        let feed = queue!.feed()
        let reader = Task { await feed.next() }
        await Task.yield()
        switch way {
        case "stop": feed.stop()
        case "cancel": reader.cancel()
        default: queue = nil
        }
        #expect(await reader.value == nil, "\(way)")
        withExtendedLifetime(queue) {}
      }
    }
  }

  // An observer stays for the rest of the process, so this test has its own process.
  @Test("An observer of the process's queues sees later queues, the shared queue, and calls without a queue")
  func process() async {
    await #expect(processExitsWith: .success) {
      let feeds = Mutex<[QueueFeed]>([])
      ProcedureQueue.observeQueues { feed in feeds.withLock { $0.append(feed) } }
      let queue = ProcedureQueue("observed later")
      try await queue.run(ProcedureTask("on a queue") {})
      try await ProcedureQueue.shared.run(ProcedureTask("on the shared queue") {})
      try await ProcedureTask("without a queue") {}()
      var seen: Set<String> = []
      for feed in feeds.withLock({ $0 }) {
        feed.stop()
        while let event = await feed.next() { seen.insert(event.name) }
      }
      #expect(seen == ["on a queue", "on the shared queue", "without a queue"])
    }
  }
}
