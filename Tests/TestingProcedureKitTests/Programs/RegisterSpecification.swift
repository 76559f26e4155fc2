import TestingProcedureKit

/// An actor with one number, whose careless increment suspends between reading and writing.
actor Register {
  private var value = 0

  func read() -> Int { value }
  func write(_ value: Int) { self.value = value }

  func add(_ amount: Int) -> Int {
    value += amount
    return value
  }

  nonisolated func addCarelessly(_ amount: Int) async -> Int {
    let sum = await read() + amount
    await write(sum)
    return sum
  }
}

/// Programs of reads, writes and increments.
struct RegisterSpecification: SequentialSpecification {
  enum Command: Hashable, Sendable {
    case read
    case write(Int)
    case add(Int)
  }

  var isCareless: Bool

  func makeSystem(_ env: ExplorationEnvironment) -> Register { Register() }

  func makeCommand(using random: inout SeededGenerator) -> Command {
    switch random.below(3) {
    case 0: .read
    case 1: .write(random.below(100))
    default: .add(1 + random.below(100))
    }
  }

  func execute(_ command: Command, on register: Register, _ env: ExplorationEnvironment) async -> Int {
    switch command {
    case .read: return await register.read()
    case .write(let value):
      await register.write(value)
      return value
    case .add(let amount):
      return isCareless ? await register.addCarelessly(amount) : await register.add(amount)
    }
  }

  func simplerCommands(than command: Command) -> [Command] {
    switch command {
    case .write(let value) where value > 1: [.write(1)]
    case .add(let amount) where amount > 1: [.add(1)]
    default: []
    }
  }

  func makeModel() -> Int { 0 }

  func respond(to command: Command, _ value: inout Int) -> Int {
    switch command {
    case .read: break
    case .write(let new): value = new
    case .add(let amount): value += amount
    }
    return value
  }
}
