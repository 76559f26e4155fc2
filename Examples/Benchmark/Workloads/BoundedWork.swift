import Dispatch
import Foundation
import ProcedureKit

/// W2: empty bodies, of which a limited number execute at a time.
struct BoundedWork {
  let width: Int

  var contestants: [Contestant] {
    [
      Contestant(.floor) { [width] units in
        Trial(units: units) {
          await withTaskGroup(of: Void.self) { group in
            for number in 0..<units {
              if number >= width { await group.next() }
              group.addTask { Tally.note() }
            }
          }
        }
      },
      Contestant(.operationQueue, mostUnits: 20_000) { [width] units in
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = width
        return Trial(units: units) { FlatWork.addOperations(units, to: queue) }
      },
      Contestant(.dispatch, mostUnits: 20_000) { [width] units in
        let queue = DispatchQueue(label: "bounded", attributes: .concurrent)
        let semaphore = DispatchSemaphore(value: width)
        return Trial(units: units) { Self.dispatch(units, to: queue, semaphore) }
      },
      Contestant(.procedureKit("add")) { [width] units in
        let queue = ProcedureQueue("bounded", maxConcurrentProcedures: width)
        return Trial(units: units) { try await FlatWork.add(units, to: queue) }
      },
    ]
  }

  private static func dispatch(_ units: Int, to queue: DispatchQueue, _ semaphore: DispatchSemaphore) {
    let group = DispatchGroup()
    for _ in 0..<units {
      semaphore.wait()
      queue.async(group: group) {
        Tally.note()
        semaphore.signal()
      }
    }
    group.wait()
  }
}
