import ProcedureKit
import TestSupport
import Testing

@testable import TestingProcedureKit

private typealias Demand = TestResourceTable.Demand

private func exclusive(_ name: String) -> Demand {
  Demand(key: .category(ByteText(name)), units: .max, capacity: .max)
}

private func shared(_ name: String) -> Demand { Demand(key: .category(ByteText(name)), units: 1, capacity: .max) }

private func units(_ units: Int, of capacity: Int) -> Demand {
  Demand(key: .units(ByteText("ports")), units: units, capacity: capacity)
}

@Suite("Resources between tests", .timeLimit(.atDepth))
struct TestResourceTableTests {
  @Test("Under every order, exclusive claims overlap with no other claim, and units are never exceeded")
  func noOverlap() async throws {
    try await exploreRace("readers together", "readers apart", schedules: TestDepth.count(1_000)) { env in
      let table = TestResourceTable()
      let (readers, writers, used) = (ConcurrencyMonitor(), ConcurrencyMonitor(), Locked(0))
      @Sendable func test(_ number: Int, _ demands: [Demand], _ body: @Sendable @concurrent () async -> Void) async {
        do {
          try await table.hold(
            demands, for: "\(number)", clock: env.clock, to: { env.check(false, $0) }, operation: body)
        } catch {
          env.check(false, "\(error)")
        }
      }
      await withTaskGroup { group in
        for number in 0..<3 {
          group.addTask {
            await test(number, [shared("database"), units(1, of: 2)]) {
              await readers.during {
                env.check(writers.current == 0, "a reader beside a writer")
                used { $0 += 1 }
                env.check(used.value <= 2, "\(used.value) units")
                await pause(env, upTo: 3)
                used { $0 -= 1 }
              }
            }
          }
          group.addTask {
            // The two orders of the names would deadlock if one resource was taken after the other.
            let names = number == 0 ? ["database", "disk"] : ["disk", "database"]
            await test(number, names.map(exclusive)) {
              await writers.during("disk") {
                env.check(readers.current == 0, "a writer beside a reader")
                await pause(env, upTo: 3)
              }
            }
          }
        }
      }
      env.check(writers.most == 1, "\(writers.most) writers")
      env.check(table.waitingCount == 0 && table.holders(of: exclusive("database").key).isEmpty)
      env.tally(readers.most > 1 ? "readers together" : "readers apart")
    }
  }

  @Test("A test that is cancelled while it waits takes no resource, and the others continue")
  func cancellation() async throws {
    try await exploreRace("ran", "cancelled", schedules: TestDepth.count(1_000)) { env in
      let table = TestResourceTable()
      let ran = Locked<[String]>([])
      @Sendable func test(_ name: String) async throws {
        try await table.hold([exclusive("database")], for: name, clock: env.clock, to: { env.check(false, $0) }) {
          ran { $0.append(name) }
          await pause(env, upTo: 3)
        }
      }
      async let first: Void = test("first")
      async let last: Void = test("last")
      await withTaskGroup { group in
        group.addTask {
          do {
            try await test("middle")
          } catch {
            env.check(error is CancellationError)
          }
        }
        await pause(env)
        group.cancelAll()
      }
      _ = try await (first, last)
      env.check(ran.value.count { $0 != "middle" } == 2)
      env.check(table.holders(of: exclusive("database").key).isEmpty)
      env.tally(ran.value.contains("middle") ? "ran" : "cancelled")
    }
  }

  @Test("A wait of a minute is reported with the holders, and a shorter one is not")
  func longWait() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let table = TestResourceTable()
      let reports = Locked<[String]>([])
      @Sendable func test(_ name: String, _ demand: Demand, for seconds: Int) async throws {
        try await table.hold([demand], for: name, clock: env.clock, to: { report in reports { $0.append(report) } }) {
          try await env.clock.sleep(for: .seconds(seconds))
        }
      }
      async let first: Void = test("Bank.first()", exclusive("database"), for: 59)
      try await eventually { !table.holders(of: exclusive("database").key).isEmpty }
      async let second: Void = test("Bank.second()", exclusive("database"), for: 61)
      try await eventually { table.waitingCount >= 1 }
      try await first
      env.check(reports.value.isEmpty, "\(reports.value)")
      async let third: Void = test("Bank.third()", shared("database"), for: 0)
      _ = try await (second, third)
      env.check(
        reports.value == [
          #"Bank.third() has waited 60 seconds for "database", which is held by Bank.second()"#
        ],
        "\(reports.value)")
    }
  }

  @Test("A test that takes its resources at the end of the minute is not reported as waiting for itself")
  func waitOfAMinute() async throws {
    try await exploreRace("reported", "not reported", schedules: TestDepth.count(500)) { env in
      let table = TestResourceTable()
      let reports = Locked<[String]>([])
      @Sendable func test(_ name: String) async throws {
        try await table.hold(
          [exclusive("database")], for: name, clock: env.clock, to: { report in reports { $0.append(report) } }
        ) {
          try await env.clock.sleep(for: .seconds(60))
        }
      }
      async let first: Void = test("first")
      try await eventually { !table.holders(of: exclusive("database").key).isEmpty }
      async let second: Void = test("second")
      _ = try await (first, second)
      env.check(reports.value.allSatisfy { $0.hasSuffix("held by first") }, "\(reports.value)")
      env.tally(reports.value.isEmpty ? "not reported" : "reported")
    }
  }

  @Test("A shared claim overtakes a waiting exclusive one, so that no resource is left unused")
  func overtaking() async throws {
    try await exploreSchedules(TestDepth.count(200)) { env in
      let table = TestResourceTable()
      let order = Locked<[String]>([])
      @Sendable func test(_ name: String, _ demand: Demand) async throws {
        try await table.hold([demand], for: name, clock: env.clock, to: { env.check(false, $0) }) {
          order { $0.append(name) }
          try await env.clock.sleep(for: .seconds(1))
        }
      }
      async let first: Void = test("reader", shared("database"))
      try await eventually { !order.value.isEmpty }
      async let second: Void = test("writer", exclusive("database"))
      try await eventually { table.waitingCount >= 1 }
      async let third: Void = test("reader", shared("database"))
      _ = try await (first, second, third)
      env.check(order.value == ["reader", "reader", "writer"], "\(order.value)")
    }
  }

  @Test("A claim that can never be granted is an error, and names the resource")
  func impossible() async throws {
    let table = TestResourceTable()
    func error(_ demand: Demand, in test: String) async -> String? {
      do {
        try await table.hold([demand], for: test, to: { _ in }, operation: {})
        return nil
      } catch {
        return "\(error)"
      }
    }
    #expect(await error(units(4, of: 4), in: "Bank.client()") == nil)
    let tooMany = #"Bank.server() needs 5 units of "ports", which has a capacity of only 4"#
    #expect(await error(units(5, of: 4), in: "Bank.server()") == tooMany)
    let other = """
      Bank.server() declares "ports" with a capacity of 8, but Bank.client() declared it with a capacity of 4. Use one Resource for both tests
      """
    #expect(await error(units(1, of: 8), in: "Bank.server()") == other)
  }

  @Test(
    "200 tests with exclusive and shared claims on three resources take at most a quarter of the serial time",
    .virtualClock)
  func throughput() async throws {
    let clock = try #require(VirtualClock.current)
    let table = TestResourceTable()
    let (monitor, ended) = (ConcurrencyMonitor(), Locked(0))
    async let all: Void = withThrowingTaskGroup { group in
      for number in 0..<200 {
        let name = ["database", "disk", "network"][number % 3]
        let demand = number / 3 % 2 == 0 ? exclusive(name) : shared(name)
        group.addTask {
          try await table.hold([demand], for: "\(number)", clock: clock, to: { _ in }) {
            try await monitor.during { try await clock.sleep(for: .seconds(1)) }
            ended { $0 += 1 }
          }
        }
      }
      try await group.waitForAll()
    }
    try await clock.run(for: .seconds(50))
    #expect(ended.value == 200)
    try await all
    #expect(monitor.most > 30)
  }
}

/// The traits, applied to tests of two suites that run concurrently.
private enum Traced {
  static let monitor = ConcurrencyMonitor()

  static func holders(_ name: String) -> [String] { TestResourceTable.shared.holders(of: .category(ByteText(name))) }

  /// Counts a test that holds the traced resource exclusively, and checks that it does not overlap with another one.
  static func visit(exclusively function: String) async {
    await monitor.during {
      #expect(monitor.current == 1)
      #expect(holders("traced").count == 1 && holders("traced")[0].hasSuffix(function), "\(holders("traced"))")
      await Task.yield()
    }
  }
}

@Suite("Tests that hold resources", .shared("traced"), .timeLimit(.minutes(10)))
struct ResourceTraitTests {
  @Test("A test's own exclusive claim includes the shared claim of its suite", .exclusive("traced"), arguments: 0..<3)
  func cases(round: Int) async { await Traced.visit(exclusively: "ResourceTraitTests/cases(round:)") }

  @Test("A test holds the resources of its suite")
  func inherited() {
    #expect(Traced.holders("traced").contains { $0.hasSuffix("ResourceTraitTests/inherited()") })
  }

  @Suite("A nested suite", .timeLimit(.minutes(10))) struct Nested {
    @Test("A test holds the resources of the suites around its own")
    func inherited() {
      #expect(Traced.holders("traced").contains { $0.hasSuffix("Nested/inherited()") })
    }
  }
}

@Suite("Tests of another suite that hold the same resource", .exclusive("traced"), .timeLimit(.minutes(10)))
struct OtherResourceTraitTests {
  @Test("Tests of two suites exclude each other", arguments: 0..<3)
  func cases(round: Int) async { await Traced.visit(exclusively: "OtherResourceTraitTests/cases(round:)") }
}

@Suite("Resource traits combined with other traits", .timeLimit(.minutes(10)))
struct ResourceTraitOrderTests {
  @Test("A test that is explored holds its resources in every schedule", .explored(20), .exclusive("one", "two"))
  func explored() async throws {
    let env = try #require(ExplorationEnvironment.current)
    await pause(env, upTo: 3)
    for name in ["one", "two"] { #expect(Traced.holders(name).count == 1) }
  }

  @Test("The order of the traits does not matter", .exclusive("three"), .explored(20), .virtualClock)
  func order() async throws {
    #expect(ExplorationEnvironment.current != nil)
    #expect(Traced.holders("three").count == 1)
  }

  @Test(
    "Units and categories with the same name are different resources", .units(1, of: Resource("three", capacity: 1)))
  func units() {
    let holders = TestResourceTable.shared.holders(of: .units(ByteText("three")))
    #expect(holders.count == 1 && holders[0].hasSuffix("units()"))
  }
}
