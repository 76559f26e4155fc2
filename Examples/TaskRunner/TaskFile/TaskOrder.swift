import ProcedureKit

/// The order of the tasks in a file. The initializer determines which tasks each task needs, and finds any errors that keep the tasks from
/// running.
struct TaskOrder {
  private(set) var tasks: [TaskDefinition]
  private(set) var problems: [Problem] = []
  private var names: [SystemText: Int] = [:]

  /// Determines all needs of each task, including the tasks that create its inputs.
  init(_ tasks: [TaskDefinition], folder: SystemText) {
    self.tasks = tasks
    let known = Set(tasks.map { $0.name.value })
    for (index, task) in tasks.enumerated() {
      if let first = names[task.name.value] {
        report(task.name.offset, "an earlier task is also named \"\(tasks[first].name.value)\"")
      } else {
        names[task.name.value] = index
      }
      for need in task.needs where !known.contains(need.value) {
        report(need.offset, "no task is named \"\(need.value)\"")
      }
    }
    let places = addNeeds(makersOfOutputs(folder))
    if problems.isEmpty { findCycles(places) }
  }

  private mutating func report(_ offset: Int, _ message: String) {
    problems.append(Problem(offset: offset, message: message))
  }

  /// Returns the outputs and the tasks that create them.
  private mutating func makersOfOutputs(_ folder: SystemText) -> PathTree {
    var tree = PathTree()
    for (index, task) in tasks.enumerated() {
      for output in task.outputs {
        if let other = tree.add(output.value, maker: index) {
          let path = Paths.relative(output.value, to: folder)
          report(output.offset, "\"\(path)\" is also an output of the task \"\(tasks[other].name.value)\"")
        }
      }
    }
    for task in tasks {
      for output in task.outputs {
        guard let outer = tree.makerAround(output.value) else { continue }
        let names = (Paths.relative(output.value, to: folder), Paths.relative(outer.path, to: folder))
        report(
          output.offset,
          "\"\(names.0)\" is in \"\(names.1)\", which is an output of the task \"\(tasks[outer.maker].name.value)\"")
      }
    }
    return tree
  }

  /// Extends the needs of each task with the tasks that create its inputs. Returns the position of each need in the file.
  private mutating func addNeeds(_ makers: PathTree) -> [SystemText: [SystemText: Int]] {
    var places: [SystemText: [SystemText: Int]] = [:]
    for index in tasks.indices {
      var (needs, known): ([SystemText], [SystemText: Int]) = ([], [:])
      func add(_ need: SystemText, _ offset: Int) {
        if known[need] == nil { needs.append(need) }
        known[need] = known[need] ?? offset
      }
      for need in tasks[index].needs { add(need.value, need.offset) }
      for input in tasks[index].inputs {
        for maker in makers.makers(of: input.value) { add(tasks[maker].name.value, input.offset) }
      }
      tasks[index].allNeeds = needs
      places[tasks[index].name.value] = known
    }
    return places
  }

  private mutating func findCycles(_ places: [SystemText: [SystemText: Int]]) {
    guard Self.order(of: tasks).count < tasks.count else { return }
    do {
      _ = try ProcedureGraph(tasks, id: \.name.value, needs: \.allNeeds) { _, _ in }
    } catch {
      for cycle in error.cycles {
        let (first, second) = (cycle[0], cycle.count > 1 ? cycle[1] : cycle[0])
        let words = (cycle + [first]).map { "\"\($0)\"" }.joined(separator: " needs ")
        report(
          places[first]?[second] ?? 0,
          "\(words), so the tasks form a cycle. A task also needs the tasks that create its inputs")
      }
    }
  }

  // MARK: Choosing

  /// Returns the tasks in an order in which each task follows the tasks that it needs. Tasks that are part of a cycle are omitted. Every
  /// task that is needed must be in `tasks`.
  static func sorted(_ tasks: [TaskDefinition]) -> [TaskDefinition] {
    order(of: tasks).map { tasks[$0] }
  }

  private static func order(of tasks: [TaskDefinition]) -> [Int] {
    let indices = Dictionary(uniqueKeysWithValues: tasks.enumerated().map { ($1.name.value, $0) })
    var (counts, dependents) = (tasks.map { $0.allNeeds.count }, [[Int]](repeating: [], count: tasks.count))
    for index in tasks.indices {
      for need in tasks[index].allNeeds { indices[need].map { dependents[$0].append(index) } }
    }
    var order = tasks.indices.filter { counts[$0] == 0 }
    var next = 0
    while next < order.count {
      for dependent in dependents[order[next]] {
        counts[dependent] -= 1
        if counts[dependent] == 0 { order.append(dependent) }
      }
      next += 1
    }
    return order
  }

  /// Returns the tasks with the given names, and all tasks that they need, in the order in which the file lists them.
  static func chosen(_ names: [SystemText], of tasks: [TaskDefinition]) -> [TaskDefinition] {
    let needs = Dictionary(uniqueKeysWithValues: tasks.map { ($0.name.value, $0.allNeeds) })
    var (wanted, rest): (Set<SystemText>, [SystemText]) = ([], names)
    while let name = rest.popLast() {
      if wanted.insert(name).inserted { rest += needs[name] ?? [] }
    }
    return tasks.filter { wanted.contains($0.name.value) }
  }
}
