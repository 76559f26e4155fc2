import ProcedureKit

/// A decoder that decodes the tasks from the JSON of a task file, and collects all errors.
struct TaskDecoder {
  private static let keys: [SystemText] = [
    "name", "command", "needs", "inputs", "outputs", "exclusive", "retries", "timeout", "env", "cwd",
  ]

  /// The folder to which paths are relative.
  let folder: SystemText
  private(set) var problems: [Problem] = []

  init(folder: SystemText) { self.folder = folder }

  /// Returns the tasks in `{"tasks": [ … ]}`, or in a list without an enclosing object.
  mutating func tasks(in root: JSONValue) -> [TaskDefinition] {
    var list = root
    if case .object(let members) = root.content {
      report(unknown: members, allowed: ["tasks"])
      guard let tasks = members.first(where: { $0.key == "tasks" }) else {
        report(root.offset, "the key \"tasks\" is missing")
        return []
      }
      list = tasks.value
    }
    guard let elements = array(list, "a list of tasks") else { return [] }
    return elements.compactMap { task(in: $0) }
  }

  private mutating func task(in value: JSONValue) -> TaskDefinition? {
    guard case .object(let members) = value.content else {
      report(value.offset, "expected a task (an object), but found \(value.kind)")
      return nil
    }
    report(unknown: members, allowed: Self.keys)
    let values = Members(members)
    for key: SystemText in ["name", "command"] where values[key] == nil {
      report(value.offset, "the task has no \"\(key)\"")
    }
    guard let nameValue = values["name"], let name = name(nameValue, "a name"), let commandValue = values["command"],
      let command = command(commandValue)
    else { return nil }
    var task = TaskDefinition(name: Placed(value: name, offset: nameValue.offset), command: command, folder: folder)
    if let needs = values["needs"] { task.needs = names(needs) }
    if let inputs = values["inputs"] { task.inputs = paths(inputs) }
    if let outputs = values["outputs"] { task.outputs = paths(outputs) }
    if let exclusive = values["exclusive"] { task.exclusive = oneOrMore(exclusive).map(\.value.description) }
    if let retries = values["retries"] {
      task.retries = Int(number(retries, in: 0...1_000, "a whole number from 0 to 1000") { $0 == $0.rounded() } ?? 0)
    }
    if let timeout = values["timeout"] {
      let isPositive: (Double) -> Bool = { $0 > 0 }
      task.timeout = number(timeout, in: 0...1e9, "a number of seconds greater than 0", isPositive).map { .seconds($0) }
    }
    if let environment = values["env"] { task.environment = variables(environment) }
    if let folder = values["cwd"], let path = text(folder, "a folder") { task.folder = absolute(path) }
    return task
  }

  /// The values of a task, which can be looked up by key.
  private struct Members {
    let members: [JSONValue.Member]

    init(_ members: [JSONValue.Member]) { self.members = members }

    subscript(key: SystemText) -> JSONValue? { members.first { $0.key == key }?.value }
  }

  // MARK: Values of keys

  private mutating func command(_ value: JSONValue) -> TaskDefinition.Command? {
    guard case .array(let elements) = value.content else {
      return text(value, "a command line, or a list with a program and its arguments").map { .shell($0) }
    }
    guard let program = elements.first else {
      report(value.offset, "expected a program and its arguments, but found an empty list")
      return nil
    }
    guard let executable = text(program, "a program") else { return nil }
    let arguments = elements.dropFirst().compactMap { text($0, "an argument", mayBeEmpty: true) }
    return .program([executable] + arguments)
  }

  private mutating func paths(_ value: JSONValue) -> [Placed<SystemText>] {
    texts(value, "a list of paths").map { Placed(value: absolute($0.value), offset: $0.offset) }
  }

  private func absolute(_ path: SystemText) -> SystemText { Paths.absolute(path, in: folder) }

  private mutating func variables(_ value: JSONValue) -> [SystemText: SystemText] {
    guard case .object(let members) = value.content else {
      report(value.offset, "expected an object with variables, but found \(value.kind)")
      return [:]
    }
    var variables: [SystemText: SystemText] = [:]
    for member in members {
      if member.key.isEmpty || member.key.bytes.contains(where: { $0 == UInt8(ascii: "=") || $0 == 0 }) {
        report(member.offset, "\"\(member.key)\" is not a valid variable name")
      }
      variables[member.key] = text(member.value, "the value of a variable", mayBeEmpty: true)
    }
    return variables
  }

  private mutating func oneOrMore(_ value: JSONValue) -> [Placed<SystemText>] {
    if case .array = value.content { return names(value) }
    return name(value, "a name or a list of names").map { [Placed(value: $0, offset: value.offset)] } ?? []
  }

  private mutating func names(_ value: JSONValue) -> [Placed<SystemText>] {
    (array(value, "a list of names") ?? []).compactMap { element in
      name(element, "a name in a list of names").map { Placed(value: $0, offset: element.offset) }
    }
  }

  private mutating func texts(_ value: JSONValue, _ expected: String) -> [Placed<SystemText>] {
    (array(value, expected) ?? []).compactMap { element in
      text(element, "a path in \(expected)").map { Placed(value: $0, offset: element.offset) }
    }
  }

  private mutating func array(_ value: JSONValue, _ expected: String) -> [JSONValue]? {
    if case .array(let elements) = value.content { return elements }
    report(value.offset, "expected \(expected), but found \(value.kind)")
    return nil
  }

  private mutating func text(_ value: JSONValue, _ expected: String, mayBeEmpty: Bool = false) -> SystemText? {
    guard case .string(let text) = value.content else {
      report(value.offset, "expected \(expected), but found \(value.kind)")
      return nil
    }
    guard mayBeEmpty || !text.isEmpty, !text.bytes.contains(0) else {
      report(
        value.offset, "expected \(expected), but found \(text.isEmpty ? "an empty string" : "a string with U+0000")")
      return nil
    }
    return text
  }

  /// Returns a string that is shown to the user, and must therefore be UTF-8.
  private mutating func name(_ value: JSONValue, _ expected: String) -> SystemText? {
    guard let name = text(value, expected) else { return nil }
    guard name.string != nil else {
      report(value.offset, "expected \(expected), but found a string that is not UTF-8")
      return nil
    }
    return name
  }

  private mutating func number(
    _ value: JSONValue, in range: ClosedRange<Double>, _ expected: String, _ isValid: (Double) -> Bool
  ) -> Double? {
    if case .number(let number) = value.content, range.contains(number), isValid(number) { return number }
    report(value.offset, "expected \(expected), but found \(value.kind)")
    return nil
  }

  private mutating func report(unknown members: [JSONValue.Member], allowed: [SystemText]) {
    let list = allowed.map(\.description).joined(separator: ", ")
    for member in members where !allowed.contains(member.key) {
      report(member.offset, "unknown key \"\(member.key)\". The valid keys are: \(list)")
    }
  }

  private mutating func report(_ offset: Int, _ message: String) {
    problems.append(Problem(offset: offset, message: message))
  }
}
