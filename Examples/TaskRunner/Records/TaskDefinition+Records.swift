import ProcedureKit

/// The hashes of a task's outputs, keyed by path.
typealias TaskOutputs = [SystemText: String]

extension TaskDefinition {
  /// Returns a hash of everything that the task depends on: its command, variables, folder and inputs, and the outputs of the tasks that it
  /// needs.
  ///
  /// - Parameter needed: The outputs of the tasks in `allNeeds`. Their hashes are not computed again.
  /// - Returns: The hash.
  /// - Throws: ``TaskProblem`` if an input is missing or cannot be read.
  func key(_ needed: [TaskOutputs]) throws -> String {
    var key = Fingerprint()
    key.add("taskrunner 1")
    switch command {
    case .shell(let line):
      key.add("shell")
      key.add(line)
    case .program(let words):
      key.add("program \(words.count)")
      for word in words { key.add(word) }
    }
    key.add(folder)
    key.add("\(environment.count)")
    for (name, value) in environment.sorted(by: { $0.key < $1.key }) {
      key.add(name)
      key.add(value)
    }
    var files: TaskOutputs = [:]
    for outputs in needed { files.merge(outputs) { first, _ in first } }
    for input in inputs where files[input.value] == nil {
      guard let hash = try Fingerprint.ofPath(input.value) else { throw TaskProblem.missingInput(input.value) }
      files[input.value] = hash
    }
    for (path, hash) in files.sorted(by: { $0.key < $1.key }) {
      key.add(path)
      key.add(hash)
    }
    return key.finish()
  }

  /// Returns the hashes of the outputs.
  ///
  /// - Throws: ``TaskProblem`` if an output is missing or cannot be read.
  func hashedOutputs() throws -> TaskOutputs {
    var hashes: TaskOutputs = [:]
    for output in outputs {
      guard let hash = try Fingerprint.ofPath(output.value) else { throw TaskProblem.missingOutput(output.value) }
      hashes[output.value] = hash
    }
    return hashes
  }

  /// Whether the task can be up to date. A task that has neither inputs nor outputs always runs.
  var canBeUpToDate: Bool { !(inputs.isEmpty && outputs.isEmpty) }

  /// Returns the record of a task that succeeded.
  static func record(key: String, outputs: TaskOutputs) -> String {
    var record = Fingerprint()
    record.add(key)
    for (path, hash) in outputs.sorted(by: { $0.key < $1.key }) {
      record.add(path)
      record.add(hash)
    }
    return record.finish()
  }
}
