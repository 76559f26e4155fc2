import Foundation
import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitProcess

/// A procedure that runs the command of a task, and returns the hashes of the outputs.
struct RunTask: Procedure {
  let task: TaskDefinition
  let context: RunContext

  var name: String { task.name.value.description }

  /// Runs the command, given the outputs of the needed tasks.
  ///
  /// The hash of the inputs is computed before the command starts. If the inputs change while the command is executing, the next run
  /// detects the difference.
  ///
  /// - Throws: ``TaskProblem`` if an input, an output or a record cannot be read or written; `ProcessError` if the command fails.
  func execute(_ needed: [TaskOutputs]) async throws -> TaskOutputs {
    let key = try await besideCommands {
      let key = task.canBeUpToDate ? try task.key(needed) : nil
      try context.records.remove(task.name.value)
      try makeFolders()
      return key
    }
    context.outputs.begin(SystemText(name))
    let start = ContinuousClock.now
    _ = try await process.execute(request)
    let duration = ContinuousClock.now - start
    return try await besideCommands {
      let outputs = try task.hashedOutputs()
      try context.records.write(duration, of: task.name.value)
      if let key { try context.records.write(TaskDefinition.record(key: key, outputs: outputs), of: task.name.value) }
      return outputs
    }
  }

  /// Executes work that reads the inputs or outputs. If the task has any, the work is executed on another thread, so that it does not delay
  /// the thread that waits for all commands.
  private func besideCommands<R: Sendable>(_ work: @Sendable () throws -> R) async throws -> R {
    guard task.canBeUpToDate else { return try work() }
    return try await withTaskExecutorPreference(globalConcurrentExecutor) { try work() }
  }

  private var process: ProcessProcedure {
    var process = ProcessProcedure(name)
    let name = SystemText(name)
    process.outputLimit = 0
    process.gracePeriod = context.gracePeriod
    process.onLaunch = { [context] in context.launched($0) }
    process.onLine = { [context, name] in context.outputs.append($0, of: name) }
    return process
  }

  private var request: ProcessRequest {
    var environment = context.environment
    for (name, value) in task.environment { environment[name] = value }
    // If no variable differs, the task shares the storage of the runner's variables.
    if environment["PWD"] != task.folder { environment["PWD"] = task.folder }
    var request =
      switch task.command {
      case .shell(let line): ProcessRequest.shell(line)
      case .program(let words): ProcessRequest(words[0], Array(words.dropFirst()))
      }
    request.environment = environment
    request.workingDirectory = task.folder
    request.mergesErrorOutput = true
    return request
  }

  private func makeFolders() throws {
    for output in task.outputs {
      guard let folder = output.value.parentFolder, !SystemFiles.isFolder(folder) else { continue }
      do {
        try SystemFiles.makeFolders(folder)
      } catch {
        throw TaskProblem.unwritable(folder, error.code.rawValue)
      }
    }
  }
}

extension TaskDefinition {
  /// Returns the outputs if the task is up to date; otherwise, returns `nil`. A task that succeeded remains up to date until one of its
  /// outputs, or something that it depends on, changes.
  ///
  /// - Throws: ``TaskProblem`` if an input is missing or cannot be read.
  func upToDateOutputs(_ needed: [TaskOutputs], _ records: TaskRecords) throws -> TaskOutputs? {
    guard canBeUpToDate, let record = records.record(of: name.value) else { return nil }
    let key = try key(needed)
    guard let outputs = try? hashedOutputs(), record == Self.record(key: key, outputs: outputs) else { return nil }
    return outputs
  }
}
