import TestSupport
import Testing

@testable import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct GroupDrainTests {
  private func explore(
    preemptionLimit: Int = 0, _ body: @escaping @Sendable (ExplorationEnvironment) async throws -> Void
  ) async throws -> Int {
    var explorer = ScheduleExplorer(schedules: 20_000, strategy: .exhaustive)
    explorer.preemptionLimit = preemptionLimit
    let summary = try await explorer.explore(body)
    #expect(summary.isComplete, "\(summary)")
    return summary.schedules
  }

  @Test("Collecting the tasks of a group is no choice of an exhaustive exploration, unlike a loop of the code")
  func schedules() async throws {
    #expect(GroupDrain.isKnown)
    let implicit = try await explore { _ in
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask {} }
      }
    }
    #expect(implicit == 24)
    let throwing = try await explore { _ in
      await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask {} }
      }
    }
    #expect(throwing == 24)
    let waiting = try await explore { _ in
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask {} }
        await group.waitForAll()
      }
    }
    #expect(waiting == 24)
    let loop = try await explore { _ in
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask {} }
        for await _ in group {}
      }
    }
    #expect(loop == 24 * 8)
    let overtaken = try await explore(preemptionLimit: .max) { _ in
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask {} }
      }
    }
    // Each child before or after each later piece of the parent: 2 · 4 · 6 · 8.
    #expect(overtaken == 384)
  }

  @Test("What the code can see of the orders is complete: before, beside and after groups, and in nested groups")
  func orders() async throws {
    func orders(_ collect: @escaping @Sendable (inout TaskGroup<Void>) async -> Void) async throws -> (Set<String>, Int)
    {
      let seen = Locked<Set<String>>([])
      let count = try await explore(preemptionLimit: 1) { env in
        let order = Locked("")
        let write = { @Sendable (name: String) in order { $0 += name } }
        async let beside: Void = {
          write("x")
          await Task.yield()
          write("y")
        }()
        for round in 1...2 {
          await withTaskGroup(of: Void.self) { group in
            group.addTask { write("a") }
            write("\(round)")
            group.addTask { write("b") }
            await collect(&group)
          }
          write(".")
        }
        await beside
        seen { _ = $0.insert(order.value) }
      }
      return (seen.value, count)
    }
    let (implicit, fewer) = try await orders { _ in }
    let (loop, more) = try await orders { group in for await _ in group {} }
    #expect(implicit == loop)
    #expect(fewer < more)
  }
}
