import Dispatch
import Foundation
import ProcedureKit

/// W7: a store of work that waits to be started.
enum Store: String, CaseIterable, Sendable {
  case tasks, operationQueue, dispatch, procedureQueue, pauses

  /// The waiting work, and how it is removed.
  struct Content: Sendable {
    /// Executes all waiting work, and returns when it has been executed.
    let empty: @Sendable () async -> Void
  }

  static let contestants = [
    Contestant(.floor, .tasks) { $0.bytesEach },
    Contestant(.operationQueue, .operationQueue, mostUnits: 100_000) { $0.bytesEach },
    Contestant(.dispatch, .dispatch) { $0.bytesEach },
    Contestant(.procedureKit("add"), .procedureQueue) { $0.bytesEach },
    Contestant(.procedureKit("pause"), .pauses, mostUnits: 10_000) { $0.bytesEach },
    Contestant(.procedureKit("add once more"), .procedureQueue) { $0.regrowthEach },
  ]

  func fill(_ units: Int) -> Content {
    switch self {
    case .tasks: Self.fillTasks(units)
    case .operationQueue: Self.fillOperationQueue(units)
    case .dispatch: Self.fillDispatch(units)
    case .procedureQueue: Self.fillProcedureQueue(units)
    case .pauses: Self.fillPauses(units)
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

  private static func fillPauses(_ units: Int) -> Content {
    let queue = ProcedureQueue("pausing")
    let pausing = FlatWork.empty.delay(.seconds(3_600))
    let handles = (0..<units).map { _ in queue.add(pausing) }
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
