import ProcedureKit

/// Real work: bodies that each sleep for a millisecond, a limited number at a time.
enum SleepWork {
  static let width = 100

  static let contestants = [
    // There are as many tasks as bodies that can sleep at a time, and each task sleeps for its share of the units. The result is the cost
    // of the sleeping itself.
    Contestant(.floor) { units in
      Trial(units: units) {
        try await withThrowingTaskGroup { group in
          for task in 0..<width {
            group.addTask {
              for _ in stride(from: task, to: units, by: width) { try await sleep() }
            }
          }
          try await group.waitForAll()
        }
      }
    },
    Contestant(.procedureKit("add")) { units in
      let queue = ProcedureQueue("sleep", maxConcurrentProcedures: width)
      return Trial(units: units) { try await FlatWork.add(units, ProcedureTask("sleep", operation: sleep), to: queue) }
    },
  ]

  @Sendable @concurrent private static func sleep() async throws {
    Tally.note()
    try await Task.sleep(for: .milliseconds(1))
  }
}
