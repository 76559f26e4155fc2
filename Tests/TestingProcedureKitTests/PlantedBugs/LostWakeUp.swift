import TestingProcedureKit

/// A mailbox whose reader checks and parks in two visits to the actor, so an item that is added in between does not resume the reader.
///
/// Invariant: the code that removes a continuation from `parked` resumes it. (That it may stay there is the bug.)
actor LostWakeUp: PlantedBug {
  private var items: [Int] = []
  private var parked: UnsafeContinuation<Void, Never>?

  private func put(_ item: Int) {
    items.append(item)
    parked.take()?.resume()
  }

  private func take() -> Int? {
    items.isEmpty ? nil : items.removeFirst()
  }

  private func park(evenIfFilled: Bool) async {
    guard evenIfFilled || items.isEmpty else { return }
    await withUnsafeContinuation { parked = $0 }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let mailbox = LostWakeUp()
    async let sum = {
      var sum = 0
      for _ in 0..<3 {
        var item = await mailbox.take()
        while item == nil {
          await Task.yield()  // without work in between, optimized builds merge the two visits
          await mailbox.park(evenIfFilled: version == .broken)
          item = await mailbox.take()
        }
        sum += item ?? 0
      }
      return sum
    }()
    for item in 1...3 { await mailbox.put(item) }
    env.check(await sum == 6)
  }
}
