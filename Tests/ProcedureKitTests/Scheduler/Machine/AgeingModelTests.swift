import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Tests the ageing of waiting runs in the machine. The model checker covers suspensions, cancellations, claims and keys.
@Suite(.timeLimit(.minutes(10))) struct AgeingModelTests {
  @Test("Ageing: in random scripts, the run that starts is the first of those with the highest level")
  func scripts() {
    var highestRise = 0
    for seed in 0..<UInt64(TestDepth.count(600, least: 100)) {
      var script = AgeingScript(seed: seed)
      script.run()
      #expect(script.objection == nil, "seed \(seed)")
      highestRise = max(highestRise, script.highestRise)
    }
    #expect(highestRise == 5)
  }

  @Test("Ageing: a run rises from any priority to the highest level, and not beyond")
  func levels() {
    var priority: UInt8? = 0
    var levels: [UInt8] = []
    while let current = priority {
      levels.append(current)
      priority = SlotWaits.level(above: current)
    }
    #expect(levels.dropFirst() == [9, 17, 21, 25, 33])
    let named: [TaskPriority] = [.background, .low, .medium, .high]
    #expect(Array(levels[1...4]) == named.map(\.rawValue))
    #expect(SlotWaits.level(above: .max) == nil)
  }

  @Test("Ageing: a burst of runs leaves no memory behind, and a run that is not waiting is not due to rise")
  func memory() {
    var (machine, next) = (
      QueueMachine(width: 1, isSuspended: false, slotWaits: SlotWaits(ageingInterval: 1)), QueueMachine.Next()
    )
    var members: [MemberID] = []
    for _ in 0..<10_000 { members.append(machine.admitted(.init(priority: 9), &next).0) }
    #expect(machine.slotWaits.rising.count == 9_999 && !machine.slotWaits.rising.contains(members[0]))
    for member in members {
      machine.bodyStarted(member)
      machine.bodyEnded(member, &next)
      machine.finished(member)
    }
    #expect(machine.slotWaits.rising.count == 0 && machine.members.isEmpty)
  }

  @Test("A burst of runs leaves no memory behind, even if a nested run is the last to finish")
  func nestedMemory() {
    var (machine, next) = (QueueMachine(width: 2, isSuspended: false), QueueMachine.Next())
    let nested = machine.admitted(.init(priority: 9, isNested: true), &next).0
    var members: [MemberID] = []
    for _ in 0..<5_000 { members.append(machine.admitted(.init(priority: 9), &next).0) }
    for member in members + [nested] {
      #expect(machine.members.count == 5_001)
      machine.bodyStarted(member)
      machine.bodyEnded(member, &next)
      machine.finished(member)
    }
    #expect(machine.count == 0 && machine.members.isEmpty)
  }
}

/// A random script of arrivals, ends, suspensions, and changes of priority on a queue with one slot, with a naive model of the waiting
/// runs.
private struct AgeingScript {
  private struct Waiting {
    let member: MemberID
    let order: Int
    /// The priority at the instant `since`, from which the run rises.
    var priority: UInt8
    var since: Int64

    func priority(at now: Int64, _ interval: Int64) -> (level: UInt8, rise: Int) {
      var (level, rise) = (priority, 0)
      while Int64(rise + 1) * interval <= now - since, let next = SlotWaits.level(above: level) {
        (level, rise) = (next, rise + 1)
      }
      return (level, rise)
    }
  }

  private var random: SeededGenerator
  private let interval: Int64
  /// The time that has passed while the queue was not suspended.
  private var time: Int64 = 0
  private var machine: QueueMachine
  private var next = QueueMachine.Next()
  private var waiting: [Waiting] = []
  private var executing: MemberID?
  private var count = 0
  private(set) var highestRise = 0
  private(set) var objection: String?

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    interval = Int64.random(in: 1...20, using: &random)
    machine = QueueMachine(
      width: 1, isSuspended: false, fairQueue: FairQueue(limit: seed % 2 == 0 ? .max : 100),
      slotWaits: SlotWaits(ageingInterval: interval))
  }

  mutating func run() {
    for _ in 0..<150 where objection == nil {
      let duration = Int64(random.below(8))
      machine.timePassed(to: machine.now + duration)
      if !machine.isSuspended { time += duration }
      switch random.below(8) {
      case 0, 1, 2: arrive()
      case 3: changePriority()
      case 4: cancel()
      case 5: suspendOrResume()
      default: end()
      }
    }
    if machine.isSuspended { suspendOrResume() }
    while executing != nil, objection == nil { end() }
    if !waiting.isEmpty || machine.count > 0 { objection = "\(waiting) are left" }
  }

  private mutating func arrive() {
    let priority: UInt8 = random.pick(from: [0, 9, 17, 20, 21, 25, 33, 40])
    let (member, step) = machine.admitted(
      QueueMachine.Member(priority: priority), key: machine.fairQueue.isUsed ? (nil, 1) : nil, &next)
    count += 1
    if executing == nil, !machine.isSuspended {
      executing = member
      if step != .start { objection = "\(member) does not start" }
      machine.bodyStarted(member)
    } else {
      if step != .wait { objection = "\(member) does not wait" }
      waiting.append(Waiting(member: member, order: count, priority: priority, since: time))
    }
  }

  private mutating func changePriority() {
    guard let index = waiting.indices.randomElement(using: &random) else { return }
    let priority: UInt8 = random.pick(from: [9, 17, 21, 25])
    let isHigher = priority > waiting[index].priority
    if !machine.lowered(waiting[index].member, to: priority) { objection = "\(waiting[index]) cannot be lowered" }
    if !isHigher { (waiting[index].priority, waiting[index].since) = (priority, time) }
  }

  private mutating func cancel() {
    guard random.chance(percent: 30), let index = waiting.indices.randomElement(using: &random) else { return }
    let member = waiting.remove(at: index).member
    if !machine.interrupted(member) { objection = "\(member) cannot be cancelled" }
    machine.finished(member)
  }

  private mutating func end() {
    guard let ending = executing else { return }
    next = QueueMachine.Next()
    machine.bodyEnded(ending, &next)
    machine.finished(ending)
    executing = nil
    if !machine.isSuspended { start() }
  }

  private mutating func suspendOrResume() {
    guard machine.isSuspended else {
      _ = machine.suspended()
      return
    }
    next = QueueMachine.Next()
    machine.resumed(&next)
    if executing == nil { start() }
  }

  /// Checks which of the waiting runs the machine has started.
  private mutating func start() {
    executing = next.steps.first?.member
    let expected = waiting.max { one, other in
      let (level, otherLevel) = (
        one.priority(at: time, interval).level, other.priority(at: time, interval).level
      )
      return level != otherLevel ? level < otherLevel : one.order > other.order
    }
    if executing != expected?.member { objection = "\(executing ?? -1) starts instead of \(expected?.member ?? -1)" }
    guard let executing, let expected else { return }
    highestRise = max(highestRise, expected.priority(at: time, interval).rise)
    if machine[executing].priority != expected.priority { objection = "\(executing) keeps its level" }
    waiting.removeAll { $0.member == executing }
    machine.bodyStarted(executing)
  }
}
