internal import ProcedureKit

/// The resources that tests hold while they run, and the tests that are waiting for resources.
///
/// A test takes either all of its resources or none, so tests cannot deadlock each other. A waiting test does not block the tests that
/// arrive after it, and a resource is never left unused while a test that is waiting could use it. Shared claims can therefore overtake an
/// exclusive claim, but not forever, because each test runs only once.
final class TestResourceTable: Sendable {
  /// A resource, which is identified by its name.
  enum Key: Hashable, Sendable {
    case category(ByteText)
    case units(ByteText)
  }

  /// The number of units of one resource that a test needs. An exclusive claim needs all units.
  struct Demand: Sendable {
    let key: Key
    var units: Int
    let capacity: Int
  }

  /// The error for a demand that can never be met.
  struct Impossible: Error, CustomStringConvertible {
    let description: String
  }

  /// The claim of a test that is waiting for its resources or holds them.
  fileprivate struct Claim: Sendable {
    let number: Int
    let test: String
    let demands: [Demand]
  }

  fileprivate struct Pool: Sendable {
    let capacity: Int
    /// The test that declared the capacity.
    let declarer: String
    var free: Int
    /// The claims that hold units, in the order in which they were granted.
    var holders: [Claim] = []
  }

  fileprivate struct State: Sendable {
    /// The resources that tests have claimed so far. A resource keeps its capacity until the process ends.
    var pools: [Key: Pool] = [:]
    /// The waiting claims, in order of arrival, with the numbers of their waiters.
    var line: [(waiter: UInt64, claim: Claim)] = []
    var claimCount = 0
  }

  /// The table of the test process.
  static let shared = TestResourceTable()

  private let list = WaiterList<State, Void, Void>(State())

  /// The number of tests that are waiting.
  var waitingCount: Int { list.withLock { state, _ in state.line.count } }

  /// Executes an operation while a test holds its resources. Cancelling the caller ends the wait for the resources.
  ///
  /// - Parameters:
  ///   - demands: The resources that the test needs. Several demands can be for the same resource.
  ///   - test: The name of the test.
  ///   - clock: The clock that measures the wait.
  ///   - limit: The duration after which a wait is reported.
  ///   - report: A closure that reports a wait that exceeds the limit.
  ///   - operation: The operation to execute.
  /// - Throws: Any error thrown by `operation`; `Impossible` if a resource does not have enough units, or if another test has declared it
  ///   with a different capacity; `CancellationError` if the task is cancelled while it is waiting.
  func hold(
    _ demands: [Demand], for test: String, clock: any Clock<Duration> = ContinuousClock(),
    reportingWaitsOf limit: Duration = .seconds(60), to report: @escaping @Sendable (String) -> Void,
    operation: @Sendable @concurrent () async throws -> Void
  ) async throws {
    let claim = try claim(Self.merged(demands), for: test)
    if !list.withLock({ state, _ in state.take(claim) }) {
      try await withThrowingTaskGroup { group in
        group.addTask { [self] in
          try await clock.sleep(for: limit)
          let blockers = blockers(of: claim)
          if !blockers.isEmpty { report("\(test) has waited \(limit.inWords) for \(blockers)") }
        }
        defer { group.cancelAll() }
        try await wait(for: claim)
      }
    }
    defer { release(claim) }
    try await operation()
  }

  /// Returns the largest demand for each resource, sorted by resource name.
  private static func merged(_ demands: [Demand]) -> [Demand] {
    Dictionary(grouping: demands, by: \.key).values.compactMap { demands in demands.max { $0.units < $1.units } }
      .sorted { $0.key < $1.key }
  }

  /// Creates a claim, and registers each resource that no test has claimed before.
  private func claim(_ demands: [Demand], for test: String) throws -> Claim {
    try list.withLock { state, _ -> Result<Claim, Impossible> in
      for demand in demands {
        let pool = state.pools[demand.key] ?? Pool(capacity: demand.capacity, declarer: test, free: demand.capacity)
        if pool.capacity != demand.capacity {
          // Tests start in any order, so the earlier declaration can be the wrong one.
          let text = """
            \(test) declares \(demand.key) with a capacity of \(demand.capacity), but \(pool.declarer) declared it with a capacity of \
            \(pool.capacity). Use one Resource for both tests
            """
          return .failure(Impossible(description: text))
        }
        if demand.units > pool.capacity {
          let text =
            "\(test) needs \(demand.units) units of \(demand.key), which has a capacity of only \(pool.capacity)"
          return .failure(Impossible(description: text))
        }
        state.pools[demand.key] = pool
      }
      state.claimCount += 1
      return .success(Claim(number: state.claimCount, test: test, demands: demands))
    }.get()
  }

  private func wait(for claim: Claim) async throws {
    try await list.wait(
      request: { _ in },
      immediateAnswer: { state in state.take(claim) ? .success(()) : nil },
      didArrive: { state, _, waiter in state.line.append((waiter.number, claim)) },
      didCancel: { state, waiter in state.line.removeAll { $0.waiter == waiter.number } })
  }

  /// Returns the names of the tests that hold a resource, in the order in which they took it.
  func holders(of key: Key) -> [String] {
    list.withLock { state, _ in state.pools[key]?.holders.map(\.test) ?? [] }
  }

  /// Returns a description of the resources that a claim is waiting for, and of the tests that hold them. Returns an empty string if the
  /// claim is no longer waiting.
  private func blockers(of claim: Claim) -> String {
    list.withLock { state, _ in
      guard state.line.contains(where: { $0.claim.number == claim.number }) else { return "" }
      return claim.demands.compactMap { demand -> String? in
        guard let pool = state.pools[demand.key], pool.free < demand.units else { return nil }
        let rest = pool.holders.count - 5
        let others = rest > 0 ? [rest.counting("other test")] : []
        let names = pool.holders.prefix(5).map(\.test) + others
        return "\(demand.key), which is held by \(names.sentenceList)"
      }.joined(separator: ", and ")
    }
  }

  /// Releases the resources, and grants them to waiting tests.
  ///
  /// - Complexity: O(n) for n waiting tests.
  private func release(_ claim: Claim) {
    list.withLock { state, waiters in
      for demand in claim.demands {
        state.pools[demand.key]?.free += demand.units
        state.pools[demand.key]?.holders.removeAll { $0.number == claim.number }
      }
      let line = state.line
      state.line = line.filter { waiter, claim in
        guard state.take(claim) else { return true }
        waiters.answer(waiter, .success(()))
        return false
      }
    }
  }
}

extension TestResourceTable.State {
  /// Takes the resources of a claim if all of them are free. Returns whether the resources were taken.
  fileprivate mutating func take(_ claim: TestResourceTable.Claim) -> Bool {
    guard claim.demands.allSatisfy({ $0.units <= pools[$0.key]?.free ?? 0 }) else { return false }
    for demand in claim.demands {
      pools[demand.key]?.free -= demand.units
      pools[demand.key]?.holders.append(claim)
    }
    return true
  }
}

extension TestResourceTable.Key: Comparable, CustomStringConvertible {
  private var name: ByteText {
    switch self {
    case .category(let name), .units(let name): name
    }
  }

  static func < (one: Self, other: Self) -> Bool { one.name < other.name }

  var description: String { "\"\(name)\"" }
}
