import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

/// Counts the orders in which tasks visit actors, and compares them with the numbers that follow from combinatorics.
@Suite(.enabled(if: ScheduleExplorer.ordersCallersOfActors), .timeLimit(.minutes(10))) struct ActorOrderTests {
  /// A log of events, in the order in which they happen.
  private final class Log: Sendable {
    private let text = Mutex("")
    var value: String { text.withLock { $0 } }
    func add(_ event: String) { text.withLock { $0 += event } }
  }

  private actor Room {
    let log: Log
    init(_ log: Log) { self.log = log }
    func visit(_ event: String) { log.add(event) }
  }

  /// Explores every order of `body`, and returns the different logs.
  private func orders(
    preemptionLimit: Int = .max, _ body: @escaping @Sendable (Log, Room) async -> Void
  ) async throws -> (Set<String>, ExplorationSummary) {
    let logs = Locked<Set<String>>([])
    let summary = try await exploreSchedules(
      1_000_000, strategy: .exhaustive, preemptionLimit: preemptionLimit
    ) { _ in
      let log = Log()
      await body(log, Room(log))
      logs { _ = $0.insert(log.value) }
    }
    return (logs.value, summary)
  }

  @Test("Two tasks with an event, a visit to an actor and another event have 20 orders")
  func eventVisitEvent() async throws {
    let (orders, summary) = try await orders { log, room in
      async let first: Void = {
        log.add("a")
        await room.visit("A")
        log.add("α")
      }()
      async let second: Void = {
        log.add("b")
        await room.visit("B")
        log.add("β")
      }()
      _ = await (first, second)
    }
    #expect(summary.isComplete, "\(summary)")
    #expect(orders.count == 20, "\(orders.sorted())")
  }

  @Test("Two tasks with a visit to an actor, an event and another visit have 20 orders")
  func visitEventVisit() async throws {
    let (orders, summary) = try await orders { log, room in
      async let first: Void = {
        await room.visit("a")
        log.add("α")
        await room.visit("A")
      }()
      async let second: Void = {
        await room.visit("b")
        log.add("β")
        await room.visit("B")
      }()
      _ = await (first, second)
    }
    #expect(summary.isComplete, "\(summary)")
    #expect(orders.count == 20, "\(orders.sorted())")
  }

  @Test("Three tasks with a visit to an actor and an event have 90 orders", arguments: [false, true])
  func visitEvent(areUnstructured: Bool) async throws {
    let (orders, summary) = try await orders(preemptionLimit: 0) { log, room in
      let works: [@Sendable () async -> Void] = [("a", "α"), ("b", "β"), ("c", "γ")].map { names in
        {
          await room.visit(names.0)
          log.add(names.1)
        }
      }
      if areUnstructured {
        for task in works.map({ work in Task { await work() } }) { await task.value }
      } else {
        async let first: Void = works[0]()
        async let second: Void = works[1]()
        async let third: Void = works[2]()
        _ = await (first, second, third)
      }
    }
    #expect(summary.isComplete, "\(summary)")
    #expect(orders.count == 90, "\(orders.sorted())")
  }

  private final class Connection: Sendable {
    let isListed = Mutex(true)
    let isOpen = Mutex(true)
    let usesAfterClose = Mutex(0)
  }

  private actor Keeper {
    let connection: Connection
    init(_ connection: Connection) { self.connection = connection }
    func remove() { connection.isListed.withLock { $0 = false } }
    func use() { if !connection.isOpen.withLock({ $0 }) { connection.usesAfterClose.withLock { $0 += 1 } } }
  }

  private static let closing: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let connection = Connection()
    let keeper = Keeper(connection)
    async let closer: Void = {
      await keeper.remove()
      connection.isOpen.withLock { $0 = false }
    }()
    async let user: Void = { if connection.isListed.withLock({ $0 }) { await keeper.use() } }()
    _ = await (closer, user)
    env.check(connection.usesAfterClose.withLock { $0 } == 0, "a connection is used after it was closed")
  }

  @Test(
    "What a caller does after its visit can precede the visit of a caller that is already waiting",
    arguments: [ExplorationStrategy.exhaustive, .random, .priorities(), .mixed()])
  func useAfterClose(strategy: ExplorationStrategy) async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(10_000, strategy: strategy, Self.closing)
    }
    #expect("\(failure.problems)".contains("a connection is used after it was closed"), "\(failure)")
    #expect(failure.failsAgain == true)
    await expectError(ExplorationFailure.self) {
      try await exploreSchedules(strategy: .replay(failure.replay), Self.closing)
    }
  }

  @Test("A call from one actor to another is a choice")
  func actorToActor() async throws {
    actor Outer {
      let room: Room
      let log: Log
      init(_ room: Room, _ log: Log) { (self.room, self.log) = (room, log) }
      func visit() async {
        log.add("a")
        await room.visit("A")
        log.add("α")
      }
    }
    let (orders, summary) = try await orders { log, room in
      let outer = Outer(room, log)
      async let first: Void = outer.visit()
      async let second: Void = room.visit("B")
      _ = await (first, second)
    }
    #expect(summary.isComplete, "\(summary)")
    #expect(orders == ["BaAα", "aBAα", "aABα", "aAαB"], "\(orders.sorted())")
  }

  @Test("Tasks that an actor starts run in the order in which they were started")
  func started() async throws {
    actor Owner {
      let log: Log
      init(_ log: Log) { self.log = log }
      func add(_ event: String) { log.add(event) }
      func start() -> [Task<Void, Never>] {
        ["a", "b", "c"].map { event in Task { self.add(event) } }
      }
    }
    let (orders, summary) = try await orders { log, _ in
      for task in await Owner(log).start() { await task.value }
    }
    #expect(summary.isComplete && orders == ["abc"], "\(summary): \(orders)")
  }

  @Test("An actor runs one job at a time, even if a job is preempted in the middle")
  func exclusive() async throws {
    actor Counter {
      private(set) var most = 0
      private var present = 0
      func visit(_ notify: (() -> Void)? = nil) {
        preconditionIsolated()
        present += 1
        most = max(most, present)
        notify?()
        present -= 1
      }
    }
    let summary = try await exploreSchedules(1_000) { env in
      let counter = Counter()
      let (events, notify) = AsyncStream.makeStream(of: Void.self)
      async let first: Void = counter.visit { notify.yield() }
      async let second: Void = {
        for await _ in events { break }
        await counter.visit()
      }()
      let third = Task { await counter.visit() }
      _ = await (first, second, third.value)
      env.check(await counter.most == 1)
    }
    #expect(summary.unorderedVisits == 0)
  }

  @Test("An actor that is released within its own job, or that ends in isolation, is released once")
  func released() async throws {
    actor Short {
      let ended: Locked<Int>
      init(_ ended: Locked<Int>) { self.ended = ended }
      func work() async { await Task.yield() }
      isolated deinit { ended { $0 += 1 } }
    }
    let ended = Locked(0)
    try await exploreSchedules(200) { _ in
      async let first: Void = Short(ended).work()
      async let second: Void = Task { await Short(ended).work() }.value
      _ = await (first, second)
    }
    // Two schedules are run a second time to check that the body is deterministic.
    #expect(ended.value == 404)
  }
}
