import Synchronization
import Testing

@testable import ProcedureKit

/// What tasks do that outlive the body that has created them.
@Suite(.timeLimit(.minutes(10))) struct LeftBehindTests {
  /// Refers to a run without keeping it.
  private struct Weak {
    weak var run: Run?
  }

  private final class Chain: Sendable {
    let queue = ProcedureQueue("q")
    let scopes = Mutex<[Weak]>([])
    let end = Signal()
    /// How many contexts were there when the last body executed.
    let alive = Box(0)
    let isExclusive: Bool
    /// Whether each body ends only when the next one has started.
    let overlaps: Bool

    init(isExclusive: Bool, overlaps: Bool) { (self.isExclusive, self.overlaps) = (isExclusive, overlaps) }

    /// Each body starts a task that runs the next, and does not wait for it.
    func link(_ number: Int) -> ProcedureTask<Void, Void> {
      let (next, started) = (number - 1, Signal())
      let task = ProcedureTask("link") { [self] in
        scopes.withLock { $0.append(Weak(run: ProcedureContext.current?.run)) }
        guard number > 0 else {
          alive.update { $0 = scopes.withLock { $0.filter { $0.run != nil }.count } }
          return end.set()
        }
        _ = Task {
          if !isExclusive, overlaps {
            try await queue.run(ProcedureTask("next") { started.set() }.then(link(next)))
          } else {
            try await queue.run(link(next))
          }
        }
        if !isExclusive, overlaps { await started.wait() }
      }
      return isExclusive ? task.exclusive(number % 2) : task
    }
  }

  @Test(
    "A chain of runs, each started by a task that the last one has left behind, keeps none of those that have ended",
    arguments: [(true, false), (false, false)])
  func chain(isExclusive: Bool, overlaps: Bool) async throws {
    let chain = Chain(isExclusive: isExclusive, overlaps: overlaps)
    _ = Task { try await chain.queue.run(chain.link(500)) }
    await chain.end.wait()
    await chain.queue.waitUntilIdle()
    let count = chain.scopes.withLock { $0.count }
    #expect(count == 501)
    // The last ones may still be about to be let go of.
    #expect((1..<20).contains(chain.alive.value))
  }

  @Test("What a task runs that a body has left behind is a part of what is around that body, as long as that is there")
  func partOfWhatIsAround() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let (ended, names) = (Signal(), Box<[String]>([]))
    let late = ProcedureTask("late") {
      let runs = ProcedureContext.current.map { Array($0.run.ancestors) } ?? []
      names.update { $0 = runs.map(\.name) }
    }
    let inner = ProcedureTask("inner") {
      Task {
        await ended.wait()
        try await queue.run(late)
      }
    }
    try await queue.run(
      ProcedureTask("outer") {
        let task = try await queue.run(inner)
        ended.set()
        try await task.value
      })
    #expect(names.value == ["late", "outer"])
  }
}
