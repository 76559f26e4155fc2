import Synchronization
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Counts the bodies that execute, the runs that finish and the values that live.
final class Ledger: Sendable {
  private struct Entries {
    var executing: Set<ProcedureID> = []
    var started: Set<ProcedureID> = []
    var most = 0
    var overlaps: [ProcedureID] = []
    var finished: [ProcedureID: Int] = [:]
    var watched = 0
  }

  private let entries = Mutex(Entries())
  private let living = LivingCount()

  /// How many bodies have started.
  var startCount: Int { entries.withLock { $0.started.count } }

  /// Whether the body of a run has started.
  func hasStarted(_ id: ProcedureID) -> Bool { entries.withLock { $0.started.contains(id) } }

  /// Something that is counted as long as it is held: for bodies to capture.
  func token() -> LivingCount.Token { LivingCount.Token(of: living) }

  /// Counts what it is called in as the body of the current run, until `body` has ended.
  ///
  /// - Throws: What `body` throws.
  func execute<R>(_ body: () async throws -> R) async rethrows -> R {
    guard let id = ProcedureContext.current?.id else { fatalError("\(#function) outside of any procedure") }
    entries.withLock { entries in
      if !entries.started.insert(id).inserted { entries.overlaps.append(id) }
      entries.executing.insert(id)
      entries.most = max(entries.most, entries.executing.count)
    }
    defer { entries.withLock { _ = $0.executing.remove(id) } }
    return try await body()
  }

  /// A procedure that yields once, and holds a token as long as anybody holds it.
  func worker(_ name: String = "worker") -> ProcedureTask<Void, Void> {
    let token = token()
    return ProcedureTask(name) { [self] in
      await execute { await Task.yield() }
      withExtendedLifetime(token) {}
    }
  }

  /// Counts how often the run tells its dependents that it has finished.
  @discardableResult
  func watch<Output>(_ handle: ProcedureHandle<Output>) -> ProcedureHandle<Output> {
    entries.withLock { $0.watched += 1 }
    let token = token()
    handle.whenFinished(by: handle.id) { [self] _ in
      entries.withLock { $0.finished[handle.id, default: 0] += 1 }
      withExtendedLifetime(token) {}
    }
    return handle
  }

  /// Shows that every run has finished once, none has executed twice, and nothing is held any more.
  ///
  /// - Parameter seed: Printed with what is wrong.
  func expectNothingLeft(_ seed: UInt64) async {
    // Dependents are told after the queue is idle: until then, what tells them lives.
    await living.waitUntilNone()
    let (executing, overlaps, finished, watched) = entries.withLock {
      ($0.executing, $0.overlaps, $0.finished, $0.watched)
    }
    #expect(executing.isEmpty, "seed \(seed): these still execute")
    #expect(overlaps.isEmpty, "seed \(seed): these have executed twice")
    #expect(finished.count == watched && finished.values.allSatisfy { $0 == 1 }, "seed \(seed): one finish each")
  }

  /// The most bodies that have executed at once.
  var most: Int { entries.withLock { $0.most } }
}
