import ProcedureKit

/// The tasks as one graph.
enum TaskGraph {
  /// The graph that runs the tasks. Each task is reused if it is up to date.
  ///
  /// - Throws: `GraphItemsError`, for tasks that a ``TaskFile`` does not contain.
  static func running(
    _ tasks: [TaskDefinition], _ context: RunContext
  ) throws -> ProcedureGraph<Void, [String: TaskOutputs]> {
    try ProcedureGraph(tasks, named: "tasks", id: \.name.value, needs: \.allNeeds) { task in
      var procedure = RunTask(task: task, context: context).procedureTask
      if let timeout = task.timeout { procedure = procedure.timeout(timeout) }
      if task.retries > 0 {
        let pauses = Schedule.exponential(from: .milliseconds(200)).capped(at: .seconds(10))
        procedure = procedure.retry(pauses, maxAttempts: task.retries + 1) { error, _ in
          error is TaskProblem ? .stop : .retry
        }
      }
      procedure = procedure.reusing("up to date") { [records = context.records] needed in
        try task.upToDateOutputs(needed, records)
      }
      for category in task.exclusive { procedure = procedure.exclusive(category) }
      return procedure
    }
  }

  /// The graph that finds which tasks would run. The value of a task is `nil` then, and a task that needs such a task would run, too.
  static func dry(
    _ tasks: [TaskDefinition], _ records: TaskRecords
  ) throws -> ProcedureGraph<Void, [String: TaskOutputs?]> {
    try ProcedureGraph(tasks, named: "tasks", id: \.name.value, needs: \.allNeeds) { task, needed in
      let known = needed.compactMap { $0 }
      return known.count == needed.count ? try task.upToDateOutputs(known, records) : nil
    }
  }
}
