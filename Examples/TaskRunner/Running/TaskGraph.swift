import ProcedureKit

/// Functions that create graphs of tasks.
enum TaskGraph {
  /// Returns a graph that runs the tasks. If a task is up to date, its outputs are reused. If more tasks are ready than can run
  /// simultaneously, those on the path that took the most time in earlier runs are run first.
  static func running(_ tasks: [TaskDefinition], _ context: RunContext) -> ProcedureGraph<Void, Void> {
    graph(tasks) { task in
      var procedure = RunTask(task: task, context: context).procedureTask
      if let timeout = task.timeout { procedure = procedure.timeout(timeout) }
      if task.retries > 0 {
        let pauses = Schedule.exponential(from: .milliseconds(200)).capped(at: .seconds(10))
        procedure = procedure.retry(pauses, maxAttempts: task.retries + 1) { error, _ in
          error is TaskProblem ? .stop : .retry
        }
      }
      if task.canBeUpToDate {
        procedure = procedure.reusing("up to date") { [records = context.records] needed in
          try await withTaskExecutorPreference(globalConcurrentExecutor) { try task.upToDateOutputs(needed, records) }
        }
      }
      for category in task.exclusive { procedure = procedure.exclusive(category) }
      return context.records.duration(of: task.name.value).map { procedure.expected(duration: $0) } ?? procedure
    }
  }

  /// Returns the tasks as a Mermaid diagram.
  static func mermaid(_ tasks: [TaskDefinition]) -> String {
    graph(tasks) { task in ProcedureTask<[Void], Void>(task.name.value.description) { _ in } }.mermaid
  }

  /// Returns a graph that determines which tasks would run.
  ///
  /// The value of a task that would run is `nil`. A task that needs such a task would also run.
  ///
  /// - Throws: `GraphItemsError`, which cannot occur for the tasks of a ``TaskFile``.
  static func dry(
    _ tasks: [TaskDefinition], _ records: TaskRecords
  ) throws -> ProcedureGraph<Void, [SystemText: TaskOutputs?]> {
    try ProcedureGraph("tasks", tasks, id: \.name.value, needs: \.allNeeds) { task, needed in
      let known = needed.compactMap { $0 }
      return known.count == needed.count ? try task.upToDateOutputs(known, records) : nil
    }
  }

  /// Returns a graph that has a node for each task, and no other nodes, so that reports and traces show only tasks from the file.
  private static func graph<Value>(
    _ tasks: [TaskDefinition], _ procedure: (TaskDefinition) -> ProcedureTask<[Value], Value>
  ) -> ProcedureGraph<Void, Void> {
    ProcedureGraph("tasks", returning: Void.self) { (builder: GraphBuilder) -> Void in
      var nodes: [SystemText: Node<Value>] = [:]
      for task in TaskOrder.sorted(tasks) {
        nodes[task.name.value] = builder.add(procedure(task), from: task.allNeeds.compactMap { nodes[$0] })
      }
    }
  }
}
