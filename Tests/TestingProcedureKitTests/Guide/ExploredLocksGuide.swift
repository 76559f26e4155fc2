import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

private typealias Mutex = ExploredMutex
private typealias Atomic = ExploredAtomic

@Suite(.timeLimit(.minutes(10))) struct ExploredLocksGuide {
  /// Counts the visitors who are present, and remembers the largest count.
  final class Visitors: Sendable {
    private let present = Atomic(0)
    private let most = Mutex(0)

    var largest: Int { most.withLock { $0 } }

    func enter() {
      let count = present.add(1, ordering: .relaxed).newValue
      if count > largest { most.withLock { $0 = count } }
    }
  }

  /// Reads and writes under one lock.
  final class CarefulVisitors: Sendable {
    private let present = Atomic(0)
    private let most = Mutex(0)

    var largest: Int { most.withLock { $0 } }

    func enter() {
      let count = present.add(1, ordering: .relaxed).newValue
      most.withLock { $0 = max($0, count) }
    }
  }

  @Test("The bug in the guide's careless counter is found, and the careful counter passes")
  func visitors() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(1_000) { env in
        let visitors = Visitors()
        async let first: Void = visitors.enter()
        async let second: Void = visitors.enter()
        _ = await (first, second)
        env.check(visitors.largest == 2)
      }
    }
    #expect(failure.failsAgain == true)
    try await exploreSchedules(1_000) { env in
      let visitors = CarefulVisitors()
      async let first: Void = visitors.enter()
      async let second: Void = visitors.enter()
      _ = await (first, second)
      env.check(visitors.largest == 2)
    }
  }
}
