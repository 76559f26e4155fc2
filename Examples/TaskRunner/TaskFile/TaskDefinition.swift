import ProcedureKit

/// A task, as described in the file.
struct TaskDefinition: Sendable {
  enum Command: Sendable {
    /// A command line for `/bin/sh`.
    case shell(SystemText)
    /// A program and its arguments, which no shell interprets.
    case program([SystemText])
  }

  /// UTF-8, since the name is used in procedures, events and reports. Names are compared by their bytes, like paths.
  let name: Placed<SystemText>
  let command: Command
  /// The names of tasks that must finish first, as listed in the file.
  var needs: [Placed<SystemText>] = []
  /// Absolute paths of the files and folders that the command reads.
  var inputs: [Placed<SystemText>] = []
  /// Absolute paths of the files and folders that the command makes.
  var outputs: [Placed<SystemText>] = []
  /// The categories. Tasks with a common category do not run at the same time.
  var exclusive: [String] = []
  /// The number of times that a failed command is retried.
  var retries = 0
  /// The time that each attempt may take.
  var timeout: Duration?
  /// Variables in addition to those of the runner.
  var environment: [SystemText: SystemText] = [:]
  /// The folder in which the command runs.
  var folder: SystemText

  /// The needs and, after them, the tasks that make inputs of this task. Set when the whole file is known.
  var allNeeds: [SystemText] = []
}
