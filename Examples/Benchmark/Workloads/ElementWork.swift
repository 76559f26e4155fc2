import ProcedureKit

/// P15: empty bodies, each with an input, at most eight at a time.
enum ElementWork {
  private static let element = ProcedureTask("element") { (number: Int) -> Int in
    Tally.note()
    return number
  }
  /// The maximum number of elements that have been started, but not yet read by the loop.
  private static let limit = 64

  static let contestants = [
    contestant("add") { queue, units in
      let handles = (0..<units).map { queue.add(element, input: $0) }
      for handle in handles { _ = try await handle.value }
    },
    contestant("map") { queue, units in _ = try await queue.map(0..<units, with: element) },
    contestant("results") { queue, units in
      for try await _ in queue.results(of: element, over: 0..<units, maxConcurrentElements: limit) {}
    },
    contestant("results, limit 8") { queue, units in
      for try await _ in queue.results(of: element, over: 0..<units) {}
    },
    contestant("results, unordered") { queue, units in
      for try await _ in queue.results(of: element, over: 0..<units, maxConcurrentElements: limit, ordered: false) {}
    },
    contestant("results, async") { queue, units in
      for try await _ in queue.results(of: element, over: Numbers(count: units), maxConcurrentElements: limit) {}
    },
  ]

  private static func contestant(
    _ way: String, _ work: @escaping @Sendable (ProcedureQueue, Int) async throws -> Void
  ) -> Contestant {
    Contestant(.procedureKit(way)) { units in
      let queue = ProcedureQueue("elements", maxConcurrentProcedures: 8)
      return Trial(units: units) { try await work(queue, units) }
    }
  }

  /// The numbers below `count`, as an asynchronous sequence that never waits.
  struct Numbers: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let count: Int
    private var number = 0

    init(count: Int) { self.count = count }

    func makeAsyncIterator() -> Numbers { self }

    mutating func next() async -> Int? {
      guard number < count else { return nil }
      number += 1
      return number
    }
  }
}
