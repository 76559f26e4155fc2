import ProcedureKit

/// Procedures that pause for an hour and are cancelled in reverse order.
enum PauseWork {
  static let contestants = [
    Contestant(.floor) { units in
      Trial(units: units) {
        let tasks = (0..<units).map { _ in
          Task {
            try? await Task.sleep(for: .seconds(3_600))
            Tally.note()
          }
        }
        for task in tasks.reversed() { task.cancel() }
        for task in tasks { await task.value }
      }
    },
    add,
    add.playing(.procedureKit("add, 1/10"), withUnitsDividedBy: 10),
  ]

  private static let add = Contestant(.procedureKit("add")) { units in
    let queue = ProcedureQueue("pause")
    let pausing = FlatWork.empty.delay(.seconds(3_600))
    return Trial(units: units) {
      let handles = (0..<units).map { _ in queue.add(pausing) }
      for handle in handles.reversed() { handle.cancel() }
      for handle in handles {
        _ = await handle.outcome
        Tally.note()
      }
    }
  }
}

/// Bodies that start in order, sleep, and finish in reverse order.
enum ReverseSleepWork {
  static let contestants = [
    Contestant(.floor) { units in
      Trial(units: units) {
        let tasks = (0..<units).map { number in Task { try await sleep(number, of: units) } }
        for task in tasks { try await task.value }
      }
    },
    Contestant(.procedureKit("add")) { units in
      let queue = ProcedureQueue("sleep")
      let sleeping = ProcedureTask("sleep") { (number: Int) in try await sleep(number, of: units) }
      return Trial(units: units) {
        let handles = (0..<units).map { queue.add(sleeping, input: $0) }
        for handle in handles { try await handle.value }
      }
    },
  ]

  @concurrent private static func sleep(_ number: Int, of units: Int) async throws {
    Tally.note()
    try await Task.sleep(for: .milliseconds(200) + .microseconds(20 * (units - number)))
  }
}
