import Dispatch
import Foundation
import ProcedureKit

/// W6: mutually exclusive empty bodies.
enum ExclusiveWork {
  private actor Exclusion {
    func note() { Tally.note() }
  }

  static let contestants = [
    Contestant(.floor) { units in
      let exclusion = Exclusion()
      return Trial(units: units) {
        await withTaskGroup { group in
          for _ in 0..<units { group.addTask { await exclusion.note() } }
        }
      }
    },
    Contestant(.operationQueue) { units in
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      return Trial(units: units) { FlatWork.addOperations(units, to: queue) }
    },
    Contestant(.dispatch) { units in
      let queue = DispatchQueue(label: "exclusive")
      return Trial(units: units) { FlatWork.dispatch(units, to: queue) }
    },
    Contestant(.procedureKit("add")) { units in
      let queue = ProcedureQueue("exclusive")
      let task = FlatWork.empty.exclusive("benchmark")
      return Trial(units: units) { try await FlatWork.add(units, task, to: queue) }
    },
  ]
}
