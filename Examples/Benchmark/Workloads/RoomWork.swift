import ProcedureKit

/// P14: empty bodies on a queue that limits the number of waiting procedures but has room for all of them.
enum RoomWork {
  static let contestants = [
    Contestant(.procedureKit("add")) { units in
      let queue = queue(units)
      return Trial(units: units) { try await FlatWork.add(units, to: queue) }
    },
    Contestant(.procedureKit("enqueue")) { units in
      let queue = queue(units)
      return Trial(units: units) {
        var handles: [ProcedureHandle<Void>] = []
        handles.reserveCapacity(units)
        for _ in 0..<units { handles.append(try await queue.enqueue(FlatWork.empty)) }
        for handle in handles { try await handle.value }
      }
    },
  ]

  private static func queue(_ units: Int) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("room")
    configuration.maxWaitingProcedures = units
    return ProcedureQueue(configuration)
  }
}
