import ProcedureKit

/// W8: empty bodies, each with a timeout of a minute.
enum TimeoutWork {
  private static let limited = FlatWork.empty.timeout(.seconds(60))

  static let contestants = [
    Contestant(.floor, mostUnits: 20_000) { units in
      Trial(units: units) {
        await withTaskGroup { group in
          for _ in 0..<units { group.addTask { await race() } }
        }
      }
    },
    Contestant(.procedureKit("run, unlimited")) { run(FlatWork.empty, times: $0) },
    Contestant(.procedureKit("run")) { run(limited, times: $0) },
    Contestant(.procedureKit("add, unlimited")) { add(FlatWork.empty, times: $0) },
    Contestant(.procedureKit("add")) { add(limited, times: $0) },
  ]

  /// Executes the hand-written version, which runs the work and a sleeping task in parallel.
  private static func race() async {
    await withTaskGroup { group in
      group.addTask { Tally.note() }
      group.addTask { try? await Task.sleep(for: .seconds(60)) }
      await group.next()
      group.cancelAll()
    }
  }

  private static func run(_ procedure: ProcedureTask<Void, Void>, times units: Int) -> Trial {
    let queue = ProcedureQueue("timeouts")
    return Trial(units: units) {
      for _ in 0..<units { try await queue.run(procedure) }
    }
  }

  private static func add(_ procedure: ProcedureTask<Void, Void>, times units: Int) -> Trial {
    let queue = ProcedureQueue("timeouts")
    return Trial(units: units) { try await FlatWork.add(units, procedure, to: queue) }
  }
}
