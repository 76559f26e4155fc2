import ProcedureKit
import ProcedureKitPacing
import Testing
import TestingProcedureKit

/// The code of the page of `ProcedureKitPacing`, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct PacingGuide {
  private struct FetchUsers: Procedure {
    let requests: Locked<[[Int]]>

    init(_ requests: Locked<[[Int]]> = Locked([])) { self.requests = requests }

    func execute(_ ids: [Int]) async throws -> [String] {
      requests.update { $0.append(ids) }
      return ids.map { "user \($0)" }
    }
  }

  @Test("Two runs make one request")
  func batches() async throws {
    try await exploreSchedules(20) { env in
      let queue = env.makeQueue()
      let user = FetchUsers().batched(maxSize: 100, within: .milliseconds(5))
      async let first = queue.run(user, input: 1)
      async let second = queue.run(user, input: 2)
      let names = try await [first, second]  // one request
      env.check(names == ["user 1", "user 2"])
      await queue.shutDown()
    }
  }

  @Test("A single input can fail")
  func results() async throws {
    @Sendable func name(of id: Int) throws -> String {
      if id < 0 { throw Flaw(number: id) }
      return "user \(id)"
    }
    try await exploreSchedules(20) { env in
      let queue = env.makeQueue()
      let strict = ProcedureTask("users") { (ids: [Int]) in
        ids.map { id in Result<String, any Error> { try name(of: id) } }
      }.batched(maxSize: 100, within: .milliseconds(5))
      let (right, wrong) = (queue.add(strict, input: 1), queue.add(strict, input: -1))
      env.check(await right.outcome.isFinished("user 1"))
      env.check(await wrong.outcome.error as? Flaw == Flaw(number: -1))
      await queue.shutDown()
    }
  }

  private struct Store: Sendable {
    let clock: VirtualClock
    let durations: Locked<[Int]>

    func value(of key: String) async throws -> String {
      let duration = durations.value.last ?? 10
      durations.update { _ = $0.popLast() }
      try await clock.sleep(for: .milliseconds(duration))
      return "\(key) after \(duration)"
    }
  }

  @Test("A slow read is sent a second time")
  func hedged() async throws {
    try await exploreSchedules(20) { env in
      let (queue, store) = (env.makeQueue(), Store(clock: env.clock, durations: Locked([])))
      let read = ProcedureTask("read") { (key: String) in try await store.value(of: key) }
        .hedged(afterPercentile: 95, initialDelay: .milliseconds(300))
      store.durations.update { $0 = [20, 5_000] }
      env.check(try await queue.run(read, input: "a") == "a after 20")
      env.check(env.clock.now.offset == .milliseconds(320))
      for _ in 0..<20 { _ = try await queue.run(read, input: "b") }
      store.durations.update { $0 = [20, 5_000] }
      let start = env.clock.now.offset
      // 19 of the 21 runs have taken 10 milliseconds.
      env.check(try await queue.run(read, input: "c") == "c after 20")
      env.check(env.clock.now.offset - start == .milliseconds(30) + .nanoseconds(1))
      await queue.shutDown()
    }
  }

  private struct Document: Sendable {
    var id: Int
    var text: String
  }

  private actor Index {
    var texts: [String] = []

    func search(_ text: String) { texts.append(text) }
    func save(_ document: Document) { texts.append(document.text) }
  }

  @Test("The latest search and the latest document are not lost")
  func pacing() async throws {
    try await exploreSchedules(20) { env in
      let (queue, index, store) = (env.makeQueue(), Index(), Index())
      let search = ProcedureTask("search") { (text: String) in await index.search(text) }
        .debounced(for: .milliseconds(300))
      let save = ProcedureTask("save") { (document: Document) in await store.save(document) }
        .throttled(to: 1, per: .seconds(2)) { $0.id }
      let searches = ["k", "ki", "kit"].map { queue.add(search, input: $0) }
      env.check(await searches[0].outcome.ignoringCondition == "debounced")
      try await searches[2].value
      env.check(await index.texts == ["kit"])
      try await queue.run(save, input: Document(id: 1, text: "draft"))
      env.check(await store.texts == ["draft"])
      await queue.shutDown()
    }
  }
}
