import ProcedureKit

/// A task, as the file describes it.
struct TaskDefinition: Sendable {
  enum Command: Sendable {
    /// A command line for `/bin/sh`.
    case shell(SystemText)
    /// A program and its arguments, which no shell reads.
    case program([SystemText])
  }

  /// UTF-8, since procedures, events and reports have the name. Names are compared by their bytes, as paths are.
  let name: Placed<SystemText>
  let command: Command
  /// The names of tasks that have to finish before, as the file says.
  var needs: [Placed<SystemText>] = []
  /// Absolute paths of the files and folders that the command reads.
  var inputs: [Placed<SystemText>] = []
  /// Absolute paths of the files and folders that the command makes.
  var outputs: [Placed<SystemText>] = []
  /// Tasks with a common category do not run at once.
  var exclusive: [String] = []
  /// How often a failed command is started again.
  var retries = 0
  /// How long each attempt may take.
  var timeout: Duration?
  /// Variables beside those of the runner.
  var environment: [SystemText: SystemText] = [:]
  /// The folder in which the command runs.
  var folder: SystemText

  /// The needs and, after them, the tasks that make inputs of this one. Set when the whole file is known.
  var allNeeds: [SystemText] = []
}
