/// A search for a simpler program that still fails. A simpler program has fewer tasks, fewer commands, or simpler commands.
///
/// The search is a value type. To advance the search, read `candidate`, run the program, and report whether it failed in the same way. If
/// it did, the simplifications of that program are tried next.
struct ProgramShrinker<Command: Sendable> {
  /// The simplest failing program so far.
  private(set) var program: Program<Command>
  private let simplerCommands: (Command) -> [Command]
  /// The simplifications of `program` that have not been tried, in reverse order.
  private var candidates: [Program<Command>] = []

  init(failing program: Program<Command>, simplerCommands: @escaping (Command) -> [Command]) {
    self.program = program
    self.simplerCommands = simplerCommands
    candidates = simplifications().reversed()
  }

  /// The next program to try; `nil` if the search has ended.
  var candidate: Program<Command>? { candidates.last }

  /// Reports that the candidate failed in the same way.
  mutating func candidateFailed() {
    guard let simpler = candidates.last else { return }
    program = simpler
    candidates = simplifications().reversed()
  }

  /// Reports that the candidate passed, or failed in another way.
  mutating func candidatePassed() {
    candidates.removeLast()
  }

  /// Returns the simplifications of `program`, starting with the largest.
  private func simplifications() -> [Program<Command>] {
    let tasks = program.tasks
    var simpler: [[[Command]]] = []
    if tasks.count > 1 { simpler += tasks.indices.map { tasks.without($0) } }
    for (index, commands) in tasks.enumerated() where commands.count > 3 {
      let middle = commands.count / 2
      simpler.append(tasks.with(Array(commands[middle...]), at: index))
      simpler.append(tasks.with(Array(commands[..<middle]), at: index))
    }
    for (index, commands) in tasks.enumerated() where commands.count > 1 {
      simpler += commands.indices.map { tasks.with(commands.without($0), at: index) }
    }
    for (index, commands) in tasks.enumerated() {
      for (place, command) in commands.enumerated() {
        simpler += simplerCommands(command).map { tasks.with(commands.with($0, at: place), at: index) }
      }
    }
    return simpler.map { Program($0) }
  }
}

extension Array {
  fileprivate func without(_ index: Int) -> Self {
    var copy = self
    copy.remove(at: index)
    return copy
  }

  fileprivate func with(_ element: Element, at index: Int) -> Self {
    var copy = self
    copy[index] = element
    return copy
  }
}
