import Dispatch
import Foundation
import ProcedureKit

/// W1: independent empty bodies.
enum FlatWork {
  static let empty = ProcedureTask("empty") { Tally.note() }

  static let contestants = [
    Contestant(.floor) { units in
      Trial(units: units) {
        await withTaskGroup { group in
          for _ in 0..<units { group.addTask { Tally.note() } }
        }
      }
    },
    Contestant(.operationQueue) { units in
      let queue = OperationQueue()
      return Trial(units: units) { addOperations(units, to: queue) }
    },
    Contestant(.dispatch) { units in
      let queue = DispatchQueue(label: "flat", attributes: .concurrent)
      return Trial(units: units) { dispatch(units, to: queue) }
    },
    Contestant(.procedureKit("run")) { units in
      let queue = ProcedureQueue("flat")
      return Trial(units: units) {
        for _ in 0..<units { try await queue.run(empty) }
      }
    },
    Contestant(.procedureKit("add")) { units in
      let queue = ProcedureQueue("flat")
      return Trial(units: units) { try await add(units, to: queue) }
    },
    Contestant(.procedureKit("add, observed")) { units in
      let queue = ProcedureQueue("flat")
      return Trial(units: units) {
        let events = queue.events(bufferingNewest: .max)
        async let end: Void = observe(events, ends: units)
        try await add(units, to: queue)
        await end
      }
    },
    BareWork.run,
    BareWork.add,
  ]

  /// Adds the bodies, and awaits every handle.
  static func add(
    _ units: Int, _ procedure: ProcedureTask<Void, Void> = empty, to queue: ProcedureQueue
  ) async throws {
    let handles = (0..<units).map { _ in queue.add(procedure) }
    for handle in handles { try await handle.value }
  }

  static func addOperations(_ units: Int, to queue: OperationQueue) {
    for _ in 0..<units { queue.addOperation { Tally.note() } }
    queue.waitUntilAllOperationsAreFinished()
  }

  static func dispatch(_ units: Int, to queue: DispatchQueue) {
    let group = DispatchGroup()
    for _ in 0..<units { queue.async(group: group) { Tally.note() } }
    group.wait()
  }

  private static func observe(_ events: AsyncStream<ProcedureEvent>, ends: Int) async {
    var left = ends
    for await event in events {
      if event.kind == .didFinish { left -= 1 }
      if left == 0 { return }
    }
  }
}
