import ProcedureKit

/// Adds the messages of a schedule's queues to the course of the schedule, which the report of a failure shows.
struct ExplorationLogHandler: ProcedureLogHandler {
  let executor: ScheduleExecutor

  func handle(_ message: ProcedureLogMessage) {
    executor.log("\(message.level): \(message.text)")
  }
}
