import ProcedureKit

/// A task as described in the task file.
struct TaskDefinition: Sendable {
  enum Command: Sendable {
    /// A command line for `/bin/sh`.
    case shell(SystemText)
    /// A program and its arguments, which are not interpreted by a shell.
    case program([SystemText])
  }

  /// The name, which must be UTF-8, since it is used in procedures, events and reports. Like paths, names are compared byte by byte.
  let name: Placed<SystemText>
  let command: Command
  /// The names of tasks that must finish first, as listed in the file.
  var needs: [Placed<SystemText>] = []
  /// The absolute paths of the files and folders that the command reads.
  var inputs: [Placed<SystemText>] = []
  /// The absolute paths of the files and folders that the command creates.
  var outputs: [Placed<SystemText>] = []
  /// The categories of the task. Tasks that have a category in common do not run simultaneously.
  var exclusive: [String] = []
  /// The number of times that a failed command is retried.
  var retries = 0
  /// The time limit for each attempt, if any.
  var timeout: Duration?
  /// The environment variables of the task, in addition to those of the runner.
  var environment: [SystemText: SystemText] = [:]
  /// The folder in which the command runs.
  var folder: SystemText

  /// The names in ``needs``, followed by the tasks that create inputs of this task. The list is complete once the whole file has been read.
  var allNeeds: [SystemText] = []
}
