import Synchronization
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// A counter of the executing bodies, the finished runs and the existing values.
final class RunCounts: Sendable {
  private struct Entries {
    var executing: Set<ProcedureID> = []
    var started: Set<ProcedureID> = []
    var most = 0
    var overlaps: [ProcedureID] = []
    var finished: [ProcedureID: Int] = [:]
    var watched = 0
  }

  private let entries = Mutex(Entries())
  private let instances = InstanceCount()

  /// The number of bodies that have started.
  var startCount: Int { entries.withLock { $0.started.count } }

  /// Returns whether the body of a run has started.
  func hasStarted(_ id: ProcedureID) -> Bool { entries.withLock { $0.started.contains(id) } }

  /// Returns a token that is counted as long as it is retained. Bodies capture the token.
  func token() -> InstanceCount.Token { InstanceCount.Token(of: instances) }

  /// Counts the caller as the body of the current run until `body` has ended.
  ///
  /// - Throws: The error thrown by `body`.
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

  /// Returns a procedure that yields once, and retains a token as long as the procedure exists.
  func worker(_ name: String = "worker") -> ProcedureTask<Void, Void> {
    let token = token()
    return ProcedureTask(name) { [self] in
      await execute { await Task.yield() }
      withExtendedLifetime(token) {}
    }
  }

  /// Counts the number of times that the run notifies its dependents of its end.
  @discardableResult
  func watch<Output>(_ handle: ProcedureHandle<Output>) -> ProcedureHandle<Output> {
    entries.withLock { $0.watched += 1 }
    let token = token()
    handle.run.setObserved()
    handle.run.whenFinished { [self] _ in
      entries.withLock { $0.finished[handle.id, default: 0] += 1 }
      withExtendedLifetime(token) {}
    }
    return handle
  }

  /// Checks that every run has finished once, that none has executed twice, and that nothing is retained any longer.
  ///
  /// - Parameter seed: The seed to print with a problem.
  func expectNothingLeft(_ seed: UInt64) async {
    // Dependents are notified after the queue has become idle, and the objects that notify them exist until then.
    await instances.waitUntilNone()
    let (executing, overlaps, finished, watched) = entries.withLock {
      ($0.executing, $0.overlaps, $0.finished, $0.watched)
    }
    #expect(executing.isEmpty, "seed \(seed): these still execute")
    #expect(overlaps.isEmpty, "seed \(seed): these have executed twice")
    #expect(finished.count == watched && finished.values.allSatisfy { $0 == 1 }, "seed \(seed): one finish each")
  }

  /// The largest number of bodies that have executed concurrently.
  var most: Int { entries.withLock { $0.most } }
}
