import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite(.timeLimit(.minutes(10))) struct KeyedQueueModelTests {
  @Test(
    "Fairness: in random scripts, no key starts more runs before a waiting one than its weight, and no run is lost"
  )
  func scripts() {
    var seen: Set<String> = []
    for seed in 0..<UInt64(TestDepth.count(600, least: 60)) {
      var script = KeyScript(seed: seed)
      script.run()
      if let objection = script.objections.first {
        Issue.record("seed \(seed): \(objection)\n\(script.trace.suffix(30).joined(separator: "\n"))")
        return
      }
      seen.formUnion(script.seen)
    }
    #expect(
      seen == [
        "beside", "took turns", "used its weight", "raised beside", "cancelled beside", "suspended beside",
        "returns beside",
      ])
  }

  @Test("A nested run with the key of its body's tenant does not change the weight of the key")
  func nestedWeight() {
    final class Tenant: Sendable {}
    let tenant = Tenant()
    let key = ObjectIdentifier(tenant)
    var machine = QueueMachine(width: 1, isSuspended: false, fairQueue: FairQueue(takesTurns: true))
    var next = QueueMachine.Next()
    let (member, _) = machine.admitted(.init(priority: 21), key: (key, 3), &next)
    machine.bodyStarted(member)
    machine.keyReplaced(of: member, by: key, &next)
    #expect(machine.fairQueue.keys[Int(machine[member].key)].weight == 3)
  }

  @Test("A million different keys, one after another, leave nothing behind")
  func passingKeys() {
    final class Key: Sendable {}
    var machine = QueueMachine(width: 2, isSuspended: false, fairQueue: FairQueue(takesTurns: true, limit: 1))
    var next = QueueMachine.Next()
    let keys = (0..<TestDepth.size(100_000)).map { _ in Key() }
    for key in keys {
      let (member, step) = machine.admitted(.init(priority: 1), key: (ObjectIdentifier(key), 1), &next)
      #expect(step == .start && machine.fairQueue.count == 1)
      machine.bodyStarted(member)
      machine.bodyEnded(member, &next)
      machine.finished(member)
    }
    #expect(machine.fairQueue.count == 0 && machine.members.count == 1)
  }
}

/// A random script of events for one machine with keys, with a naive model of the runs that may start next.
private struct KeyScript {
  typealias Machine = QueueMachine

  private final class Key: Sendable {}

  private static let keys = (0..<4).map { _ in Key() }
  /// The weight of each key. Runs without a key have the weight 1.
  private static let weights = Dictionary(uniqueKeysWithValues: zip(keys.map(ObjectIdentifier.init), [1, 1, 2, 3]))

  private var random: SeededGenerator
  private var machine: Machine
  private let limit: Int
  /// For each run that is the first of its key and may start, the number of times that other keys have started before it.
  private var overtaken: [MemberID: [Int32: Int]] = [:]
  private(set) var seen: Set<String> = []
  private(set) var objections: [String] = []
  private(set) var trace: [String] = []

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    limit = [1, 2, .max][Int.random(in: 0...2, using: &random)]
    machine = Machine(
      width: Int.random(in: 1...4, using: &random), isSuspended: Int.random(in: 0..<4, using: &random) == 0,
      fairQueue: FairQueue(takesTurns: Bool.random(using: &random) || limit == .max, limit: limit))
  }

  mutating func run() {
    for _ in 0..<120 where objections.isEmpty { step() }
    event("resumed") { $0.resumed(&$1) }
    var turns = 0
    while !machine.present.isEmpty, objections.isEmpty {
      turns += 1
      if turns > 5_000 { return objections.append("never ends: \(machine.members.map(\.phase))") }
      follow(isEnding: true)
    }
    if objections.isEmpty, machine.fairQueue.count > 0 { objections.append("\(machine.fairQueue.count) keys are left") }
  }

  private static func weight(of key: ObjectIdentifier?) -> Int { key.flatMap { weights[$0] } ?? 1 }

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  private mutating func step() {
    switch Int.random(in: 0..<13, using: &random) {
    case 0, 1, 2, 3: arrive()
    case 4:
      if machine.fairQueue.members.contains(where: { isBeside($0) && machine[$0].holdsClaim }) {
        seen.insert("suspended beside")
      }
      event("suspended") { machine, _ in _ = machine.suspended() }
    case 5: event("resumed") { $0.resumed(&$1) }
    case 6:
      let width = Int.random(in: 1...4, using: &random)
      event("widthChanged") { $0.widthChanged(to: width, &$1) }
    case 7:
      guard let member = machine.present.randomElement(using: &random) else { return }
      if isBeside(member) { seen.insert("raised beside") }
      let (priority, raises) = (UInt8.random(in: 0...3, using: &random), chance(50))
      event("raised") { machine, _ in
        if raises { _ = machine.raised(member, to: priority) } else { _ = machine.lowered(member, to: priority) }
      }
    case 8:
      guard let member = machine.present.randomElement(using: &random), machine[member].phase.awaitsStart else {
        return
      }
      event("dependencyAdded \(member)") { machine, _ in _ = machine.dependencyAdded(member) }
    default: follow(isEnding: false)
    }
  }

  private mutating func arrive() {
    let key = Self.keys.randomElement(using: &random).map(ObjectIdentifier.init)
    let (isKeyless, isNested, needsClaim) = (chance(20), chance(20), chance(30))
    let new = Machine.Member(
      priority: UInt8.random(in: 0...2, using: &random), prerequisites: needsClaim ? .claim : [],
      isDrivenByWorker: !isNested && chance(50), isNested: isNested)
    event("arrived") { machine, next in
      _ = machine.admitted(new, key: isKeyless ? (nil, 1) : (key, Self.weight(of: key)), &next)
    }
  }

  private mutating func follow(isEnding: Bool) {
    if machine.isWorkerStarting, chance(50) {
      return event("workerAsked") { $0.workerAsked(isStarting: true, &$1) }
    }
    guard let member = machine.present.randomElement(using: &random) else { return }
    switch machine[member].phase {
    case .claiming:
      event("claimGranted \(member)") { machine, next in
        _ = machine.claimGranted(member, &next)
      }
    case .ready:
      guard chance(10) else { return }
      if isBeside(member) { seen.insert("cancelled beside") }
      event("interrupted \(member)") { machine, _ in _ = machine.interrupted(member) }
    case .held: if chance(10) { event("interrupted \(member)") { machine, _ in _ = machine.interrupted(member) } }
    case .starting: event("bodyStarted \(member)") { machine, _ in machine.bodyStarted(member) }
    case .executing: execute(member, isEnding: isEnding)
    case .finishing: event("finished \(member)") { machine, _ in machine.finished(member) }
    case .pausing: event("pauseEnded \(member)") { _ = $0.pauseEnded(member, &$1) }
    case .pending: event("dependenciesSucceeded \(member)") { _ = $0.dependenciesSucceeded(member, &$1) }
    case .evaluating, .finished: break
    }
  }

  private mutating func execute(_ member: MemberID, isEnding: Bool) {
    let entry = machine[member]
    if entry.waits > 0 {
      event("waitEnded \(member)") { machine, _ in
        machine.waitEnded(member)
        _ = machine.slotNeeded(member)
      }
      if isBeside(member) { seen.insert("returns beside") }
    } else if entry.isReturning {
      if chance(10) { event("returnCancelled \(member)") { machine, _ in machine.returnCancelled(member) } }
    } else if !isEnding, chance(40) {
      event("waitStarted \(member)") { $0.waitStarted(member, &$1) }
    } else if !isEnding, chance(20) {
      let key = Self.keys.randomElement(using: &random).map(ObjectIdentifier.init)
      event("keyReplaced \(member)") { machine, next in
        machine.keyReplaced(of: member, by: key, &next)
        _ = machine.slotNeeded(member)
      }
    } else if !isEnding, !entry.isNested, chance(20) {
      event("paused \(member)") { $0.bodyPaused(member, prerequisites: [], &$1) }
    } else {
      event("bodyEnded \(member)") { $0.bodyEnded(member, &$1) }
    }
  }

  // MARK: The naive view

  private func isWaiting(_ member: MemberID) -> Bool { machine[member].phase == .ready || machine[member].isReturning }

  private func isFull(_ key: Int32, of machine: Machine) -> Bool {
    guard machine.fairQueue.isFull(key) else { return false }
    return machine.members.count { $0.isPresent && $0.key == key && $0.holdsSlot } >= limit
  }

  private func isBeside(_ member: MemberID) -> Bool {
    isWaiting(member) && !machine.ready.contains(member) && !machine.returning.contains(member)
  }

  /// Returns the runs that may start, which are the most urgent ones of each key that has room.
  private func candidates(of machine: Machine) -> [MemberID] {
    let waiting = machine.present.filter { machine[$0].phase == .ready && !machine[$0].isNested }
    let keys = Set(waiting.map { machine[$0].key }).filter { !isFull($0, of: machine) }
    return keys.compactMap { key in
      waiting.filter { machine[$0].key == key }.max { isAfter($0, $1, machine) }
    }
  }

  private func isAfter(_ one: MemberID, _ other: MemberID, _ machine: Machine) -> Bool {
    let (one, other) = (machine[one], machine[other])
    return one.priority != other.priority ? one.priority < other.priority : one.order > other.order
  }

  private mutating func event(_ name: String, _ body: (inout Machine, inout Machine.Next) -> Void) {
    let before = machine
    var next = Machine.Next()
    body(&machine, &next)
    _ = machine.completeEvent(&next)
    trace.append(name)
    check(name, before)
  }

  private mutating func check(_ name: String, _ before: Machine) {
    func object(_ objection: String) { objections.append("\(name): \(objection)") }
    let present = machine.present
    if machine.slotsTaken > max(machine.width, before.slotsTaken) { object("\(machine.slotsTaken) slots") }
    for key in Set(present.map { machine[$0].key }) where machine.fairQueue.limit < .max {
      let slots = present.count { machine[$0].key == key && machine[$0].holdsSlot }
      let isLimited = (0..<4).contains { machine.fairQueue.number(of: ObjectIdentifier(Self.keys[$0])) == key }
      if isLimited, slots > limit { object("\(slots) slots of the key \(key)") }
    }
    for member in present where machine.fairQueue.isWaiting(member) != isWaiting(member) {
      object("\(member) is in a wrong line")
    }
    if present.contains(where: isBeside) { seen.insert("beside") }
    let now = candidates(of: machine)
    let started = before.present.filter {
      before[$0].phase == .ready && !before[$0].isNested && machine[$0].phase == .starting
    }
    let candidatesBefore = started.isEmpty ? [] : candidates(of: before)
    if name != "raised", !name.hasPrefix("keyReplaced") {
      for start in started {
        let previous = before[start]
        for waiting in now where before.members.indices.contains(Int(waiting)) && before[waiting].phase == .ready {
          let other = machine[waiting]
          let isEarlier = other.order < previous.order && (other.key == previous.key || !machine.fairQueue.takesTurns)
          if other.priority > previous.priority || (other.priority == previous.priority && isEarlier) {
            object("\(start) overtook \(waiting)")
          }
          // A run that was not the first of its key when the event began may have come after the start.
          guard previous.phase == .ready, candidatesBefore.contains(waiting) else { continue }
          guard machine.fairQueue.takesTurns, other.key != previous.key, other.priority == previous.priority else {
            continue
          }
          overtaken[waiting, default: [:]][previous.key, default: 0] += 1
          seen.insert("took turns")
          let weight = before.fairQueue.keys[Int(previous.key)].weight
          let count = overtaken[waiting]?[previous.key] ?? 0
          if count == weight, weight > 1 { seen.insert("used its weight") }
          if count > weight { object("\(previous.key) came \(count) times before \(waiting)") }
        }
      }
    }
    overtaken = overtaken.filter { now.contains($0.key) }
    guard machine.slotsTaken < machine.width else { return }
    for member in present
    where (machine[member].isReturning || (machine[member].isNested && machine[member].phase == .ready)) {
      if !isFull(machine[member].key, of: machine), name != "raised" { object("\(member) waits for a free slot") }
    }
    guard !machine.isSuspended, !now.isEmpty else { return }
    if !machine.isWorkerStarting { object("no worker will execute \(now)") }
  }
}
