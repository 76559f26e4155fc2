import Dispatch
import Foundation
import ProcedureKit

/// W7: a store of work that is waiting to be started.
enum Store: CaseIterable, Sendable {
  case tasks, operationQueue, dispatch, procedureQueue, delays, attempts

  /// The work in the store, and a way to remove it.
  struct Content: Sendable {
    /// Executes or cancels all work in the store, and returns once all of it has ended.
    let empty: @Sendable () async -> Void
  }

  static let contestants = [
    Contestant(.floor, .tasks) { $0.bytesEach },
    Contestant(.operationQueue, .operationQueue, mostUnits: 100_000) { $0.bytesEach },
    Contestant(.dispatch, .dispatch) { $0.bytesEach },
    Contestant(.procedureKit("add"), .procedureQueue) { $0.bytesEach },
    Contestant(.procedureKit("delay"), .delays, mostUnits: 10_000) { $0.bytesEach },
    Contestant(.procedureKit("between attempts"), .attempts, mostUnits: 10_000) { $0.bytesEach },
    Contestant(.procedureKit("add again"), .procedureQueue) { $0.regrowthEach },
  ]

  /// Fills the store with work that is waiting to be started.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  func fill(_ units: Int) async throws -> Content {
    switch self {
    case .tasks: Self.fillTasks(units)
    case .operationQueue: Self.fillOperationQueue(units)
    case .dispatch: Self.fillDispatch(units)
    case .procedureQueue: Self.fillProcedureQueue(units)
    case .delays: try await Self.fillPauses(FlatWork.empty.delay(Self.hour), units)
    case .attempts: try await Self.fillPauses(Self.failing.retry(.constant(Self.hour), maxAttempts: 2), units)
    }
  }

  private static func fillTasks(_ units: Int) -> Content {
    let (gate, opening) = AsyncStream.makeStream(of: Never.self)
    let first = Task { for await _ in gate {} }
    let tasks = (0..<units).map { _ in
      Task {
        await first.value
        Tally.note()
      }
    }
    return Content {
      opening.finish()
      for task in tasks { await task.value }
    }
  }

  private static func fillOperationQueue(_ units: Int) -> Content {
    let queue = OperationQueue()
    queue.isSuspended = true
    for _ in 0..<units { queue.addOperation { Tally.note() } }
    return Content {
      queue.isSuspended = false
      await withCheckedContinuation { done in queue.addBarrierBlock { done.resume() } }
    }
  }

  private static func fillDispatch(_ units: Int) -> Content {
    let queue = DispatchQueue(label: "waiting")
    queue.suspend()
    for _ in 0..<units { queue.async { Tally.note() } }
    return Content {
      queue.resume()
      await withCheckedContinuation { done in queue.async { done.resume() } }
    }
  }

  private static func fillProcedureQueue(_ units: Int) -> Content {
    let queue = ProcedureQueue("waiting", isSuspended: true)
    let handles = (0..<units).map { _ in queue.add(FlatWork.empty) }
    return Content {
      queue.resume()
      for handle in handles { _ = await handle.outcome }
      await queue.shutDown()
    }
  }

  private struct Failure: Error {}

  private static let failing = ProcedureTask("failing") { throw Failure() }
  private static let hour = Duration.seconds(3_600)

  private static func fillPauses(_ pausing: ProcedureTask<Void, Void>, _ units: Int) async throws -> Content {
    let queue = ProcedureQueue("pausing")
    let handles = (0..<units).map { _ in queue.add(pausing) }
    for handle in handles {
      while handle.state != .pausing { try await Task.sleep(for: .milliseconds(1)) }
    }
    return Content {
      queue.cancelAll()
      for handle in handles {
        _ = await handle.outcome
        Tally.note()
      }
      await queue.shutDown()
    }
  }
}
