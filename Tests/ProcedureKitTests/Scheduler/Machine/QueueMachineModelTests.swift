import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// A table of the phases in which an event can arrive, and of their successors. The random scripts are compared with this table.
private let phaseTable: [String: [RunPhase: Set<RunPhase>]] = [
  "dependenciesSucceeded": [.pending: [.held, .evaluating, .pausing, .claiming, .ready, .starting]],
  "evaluationStarts": [.evaluating: [.evaluating, .held, .pending]],
  "conditionsSatisfied": [.evaluating: [.pending, .held, .pausing, .claiming, .ready, .starting]],
  "pauseEnded": [.pausing: [.pending, .held, .claiming, .ready, .starting]],
  "claimGranted": [.claiming: [.pending, .held, .ready, .starting]],
  "dependencyAdded": [
    .pending: [.pending], .held: [.pending], .ready: [.pending], .evaluating: [.evaluating], .pausing: [.pausing],
    .claiming: [.claiming],
  ],
  "claimRefused": [.claiming: [.finishing]],
  "started": [.ready: [.starting]],
  "bodyStarted": [.starting: [.executing]],
  "bodyPaused": [.executing: [.pausing]],
  "suspended": [.ready: [.held]],
  "resumed": [.held: [.evaluating, .pausing, .claiming]],
  "interrupted": [
    .pending: [.finishing], .held: [.finishing], .evaluating: [.finishing], .pausing: [.finishing],
    .claiming: [.finishing], .ready: [.finishing],
  ],
  "bodyEnded": [.executing: [.finishing], .starting: [.finishing]],
  "finished": [.finishing: [.finished]],
]

@Suite(.timeLimit(.minutes(10))) struct QueueMachineModelTests {
  @Test(
    "In random scripts, each event leads to the phase in the table, and no run is overtaken or lost"
  )
  func scripts() {
    var seen: [String: [RunPhase: Set<RunPhase>]] = [:]
    var late: [RunPhase: Set<RunEvent>] = [:]
    for seed in 0..<UInt64(TestDepth.count(3_000, least: 300)) {
      var script = QueueScript(seed: seed)
      script.run()
      if let objection = script.objections.first {
        Issue.record("seed \(seed): \(objection)\n\(script.trace.joined(separator: "\n"))")
        return
      }
      late.merge(script.lateEvents) { $0.union($1) }
      for (event, pairs) in script.seen {
        for (from, to) in pairs { seen[event, default: [:]][from, default: []].formUnion(to) }
      }
    }
    for event in Set(phaseTable.keys).union(seen.keys) {
      #expect(seen[event] == phaseTable[event], "\(event)")
    }
    for phase in RunPhase.allCases where phase != .finished {
      #expect(late[phase, default: []] == Set(RunEvent.allCases.filter { $0.isLate(in: phase) }), "\(phase)")
    }
  }

  @Test("In each phase, each event is a transition, late, or impossible, as in the table of phases")
  func events() {
    for event in RunEvent.allCases {
      let transitions = Set(phaseTable["\(event)", default: [:]].keys)
      #expect(!transitions.isEmpty, "\(event)")
      for phase in RunPhase.allCases where transitions.contains(phase) || event.isLate(in: phase) {
        #expect(event.advances(phase) == transitions.contains(phase), "\(event) in \(phase)")
      }
      #expect(transitions.isDisjoint(with: RunPhase.allCases.filter { event.isLate(in: $0) }), "\(event)")
    }
  }

  @Test("An event that is impossible in a phase traps with a message that names both", arguments: ["bodyStarted"])
  func impossibleEvents(name: String) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = RunEvent.bodyStarted.advances(.pending)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("\(name) is impossible in phase pending"), "\(text)")
  }

  @Test("A wait that ends without having started traps with a message that names the mistake")
  func unmatchedWaitEnd() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var (machine, next) = (QueueMachine(width: 1, isSuspended: false), QueueMachine.Next())
      let (run, _) = machine.admitted(QueueMachine.Member(priority: 0), &next)
      machine.waitEnded(run)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("QueueMachine: a wait ended that had not started"), "\(text)")
  }

  @Test("A run that pauses while a task of its body waits for the slot gets no slot before the end of the pause")
  func pauseWithWaitingTask() {
    var (machine, next) = (QueueMachine(width: 1, isSuspended: false), QueueMachine.Next())
    let (run, _) = machine.admitted(QueueMachine.Member(priority: 0), &next)
    machine.bodyStarted(run)
    machine.waitStarted(run, &next)
    let (other, _) = machine.admitted(QueueMachine.Member(priority: 0), &next)
    machine.bodyStarted(other)
    machine.waitEnded(run)
    let hasSlot = machine.slotNeeded(run)
    #expect(!hasSlot)
    machine.bodyPaused(run, prerequisites: [], &next)
    #expect(next.returned == [run])
    machine.bodyEnded(other, &next)
    #expect(machine.slotsTaken == 0 && next.returned == [run])
    let step = machine.pauseEnded(run, &next)
    #expect(step == .start && machine.slotsTaken == 1)
  }

  @Test("The table of phases allows exactly the successors that each phase declares")
  func successors() {
    var pairs: [RunPhase: Set<RunPhase>] = [:]
    for (from, to) in phaseTable.values.joined() { pairs[from, default: []].formUnion(to.subtracting([from])) }
    // A run that executes a retry can be in the phase `starting` again when its pause has ended.
    for phase in RunPhase.allCases {
      #expect(pairs[phase, default: []] == phase.successors.subtracting([phase]), "\(phase)")
    }
  }
}

/// A random script of events for one machine, with a naive model of the run that must start next.
private struct QueueScript {
  typealias Machine = QueueMachine

  private var random: SeededGenerator
  private var machine: Machine
  private var steps: [MemberID: RunStep] = [:]
  /// The runs whose conditions are being evaluated.
  private var evaluated: Set<MemberID> = []
  private var workersStarting = 0
  private var workers = 0
  private(set) var seen: [String: [RunPhase: Set<RunPhase>]] = [:]
  /// The events that arrived late, by the phases of the runs.
  private(set) var lateEvents: [RunPhase: Set<RunEvent>] = [:]
  private(set) var objections: [String] = []
  private(set) var trace: [String] = []

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    let width = Int.random(in: 1...4, using: &random)
    machine = Machine(width: width, isSuspended: Int.random(in: 0..<4, using: &random) == 0)
  }

  mutating func run() {
    for _ in 0..<80 where objections.isEmpty { step() }
    // Everything ends, and no run may be left that no event would ever continue.
    event("resumed", nil) { $0.resumed(&$1) }
    var turns = 0
    while machine.count > 0 || !steps.isEmpty || machine.present.count > 0, objections.isEmpty {
      turns += 1
      if turns > 5_000 { return objections.append("never ends: \(machine.members.map(\.phase))") }
      follow(isEnding: true)
    }
  }

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  private mutating func step() {
    switch Int.random(in: 0..<13, using: &random) {
    case 0, 1, 2: arrive()
    case 3: event("suspended", nil) { machine, _ in _ = machine.suspended() }
    case 4, 5: event("resumed", nil) { $0.resumed(&$1) }
    case 6:
      let width = Int.random(in: 1...4, using: &random)
      event("widthChanged", nil) { $0.widthChanged(to: width, &$1) }
    case 7:
      guard let member = machine.present.randomElement(using: &random) else { return }
      let (priority, chance) = (UInt8.random(in: 0...3, using: &random), chance(50))
      event("raised", nil) { machine, _ in
        if chance { _ = machine.raised(member, to: priority) } else { _ = machine.lowered(member, to: priority) }
      }
    case 8:
      guard chance(50), let member = machine.present.randomElement(using: &random),
        machine[member].phase.awaitsStart
      else { return }
      // If the body has been called, for example before a retry, the event is late, and changes no phase.
      let isLate = machine[member].hasStarted
      var step: RunStep?
      event("dependencyAdded", isLate ? nil : member) { machine, _ in step = machine.dependencyAdded(member) }
      if isLate, step != .stale { objections.append("a dependency was added to a body that had been called") }
    default: follow(isEnding: false)
    }
  }

  private mutating func arrive() {
    var prerequisites: Machine.Prerequisites = []
    for need in [Machine.Prerequisites.dependencies, .conditions, .delay, .claim] where chance(25) {
      prerequisites.insert(need)
    }
    let isNested = chance(20)
    let new = Machine.Member(
      priority: UInt8.random(in: 0...2, using: &random), prerequisites: prerequisites,
      isDrivenByWorker: !isNested && chance(50),
      takesNoSlot: isNested && chance(50), isNested: isNested, takesRoom: !isNested)
    var arrived: (MemberID, RunStep) = (-1, .wait)
    event("arrived", nil) { arrived = $0.admitted(new, &$1) }
    take(arrived.1, for: arrived.0)
  }

  private mutating func take(_ step: RunStep, for member: MemberID) {
    if step != .wait, step != .releaseClaim { steps[member] = step }
  }

  /// Sends an event to one run, or lets a worker ask for a run.
  private mutating func follow(isEnding: Bool) {
    if workersStarting > 0, chance(40) {
      workersStarting -= 1
      workers += 1
      return ask(isStarting: true)
    }
    guard let member = machine.present.randomElement(using: &random) else { return }
    if chance(20) { comeLate(to: member) }
    switch machine[member].phase {
    case .pending:
      if chance(20) { return end(member) }
      lead(member, "dependenciesSucceeded") { $0.dependenciesSucceeded(member, &$1) }
    case .held: if chance(10) { end(member) }
    case .evaluating:
      guard chance(80) else { return end(member) }
      guard !evaluated.contains(member) else {
        evaluated.remove(member)
        return lead(member, "conditionsSatisfied") { $0.conditionsSatisfied(member, &$1) }
      }
      var mayStart = false
      event("evaluationStarts", member) { machine, _ in mayStart = machine.evaluationStarts(member) }
      if mayStart { evaluated.insert(member) }
    case .pausing:
      if chance(10) { return end(member) }
      lead(member, "pauseEnded") { $0.pauseEnded(member, &$1) }
    case .claiming:
      if chance(10) { return end(member) }
      if chance(10) { return event("claimRefused", member) { machine, _ in _ = machine.claimRefused(member) } }
      lead(member, "claimGranted") { $0.claimGranted(member, &$1) }
    case .ready: if chance(5) { end(member) }
    case .starting: if steps[member] == .start { start(member) }
    case .executing: execute(member, isEnding: isEnding)
    case .finishing:
      event("finished", member) { machine, _ in machine.finished(member) }
      steps[member] = nil
    case .finished: break
    }
  }

  /// Sends an event to a run that has already advanced. The event changes nothing.
  private mutating func comeLate(to member: MemberID) {
    let phase = machine[member].phase
    guard let event = RunEvent.allCases.filter({ $0.isLate(in: phase) }).randomElement(using: &random) else { return }
    let (members, slots, waiting) = (machine.members.map(\.phase), machine.slotsTaken, machine.waitingCount)
    var next = Machine.Next()
    let answer: RunStep =
      switch event {
      case .dependenciesSucceeded: machine.dependenciesSucceeded(member, &next)
      case .conditionsSatisfied: machine.conditionsSatisfied(member, &next)
      case .pauseEnded: machine.pauseEnded(member, &next)
      case .claimGranted: machine.claimGranted(member, &next)
      case .claimRefused: machine.claimRefused(member) ? .finish : .stale
      case .bodyStarted, .bodyPaused, .bodyEnded, .finished: .stale
      }
    if event == .bodyEnded { machine.bodyEnded(member, &next) }
    lateEvents[phase, default: []].insert(event)
    let isUnchanged =
      machine.members.map(\.phase) == members && machine.slotsTaken == slots && machine.waitingCount == waiting
      && next.steps.isEmpty && next.returned.isEmpty && next.execute == nil
    if answer != .stale || !isUnchanged { objections.append("\(event) in \(phase) is late: \(answer)") }
  }

  private mutating func start(_ member: MemberID) {
    steps[member] = nil
    switch Int.random(in: 0..<10, using: &random) {
    case 0: bodyEnds(member)
    default: event("bodyStarted", member) { machine, _ in machine.bodyStarted(member) }
    }
  }

  private mutating func execute(_ member: MemberID, isEnding: Bool) {
    let entry = machine[member]
    if entry.waits > 0, chance(60) {
      event("waitEnded", nil) { machine, _ in
        machine.waitEnded(member)
        _ = machine.slotNeeded(member)
      }
    } else if entry.isReturning {
      if chance(20) { event("returnCancelled", nil) { machine, _ in machine.returnCancelled(member) } }
    } else if entry.waits == 0, !isEnding, chance(40) {
      event("waitStarted", nil) { $0.waitStarted(member, &$1) }
    } else if entry.waits == 0, !isEnding, chance(20) {
      pause(member)
    } else if entry.waits == 0 {
      bodyEnds(member)
    }
  }

  private mutating func pause(_ member: MemberID) {
    let prerequisites: Machine.Prerequisites = chance(50) ? .claim : []
    event("bodyPaused", member) { $0.bodyPaused(member, prerequisites: prerequisites, &$1) }
    workerLeaves(member)
  }

  private mutating func bodyEnds(_ member: MemberID) {
    event("bodyEnded", member) { $0.bodyEnded(member, &$1) }
    workerLeaves(member)
  }

  private mutating func workerLeaves(_ member: MemberID) {
    if machine[member].isDrivenByWorker, workers > 0 { ask(isStarting: false) }
  }

  private mutating func end(_ member: MemberID) {
    event("interrupted", member) { machine, _ in _ = machine.interrupted(member) }
    evaluated.remove(member)
    steps[member] = nil
  }

  private mutating func lead(_ member: MemberID, _ name: String, _ body: (inout Machine, inout Machine.Next) -> RunStep)
  {
    var step = RunStep.wait
    event(name, member) { step = body(&$0, &$1) }
    take(step, for: member)
  }

  private mutating func ask(isStarting: Bool) {
    var found = false
    event("workerAsked", nil) {
      $0.workerAsked(isStarting: isStarting, &$1)
      found = $1.execute != nil
    }
    if !found { workers -= 1 }
  }

  // MARK: The naive view

  /// The runs in line for a slot, the next one first.
  private var line: [MemberID] {
    machine.present.filter { machine[$0].phase == .ready && !machine[$0].isNested }.sorted {
      let (one, other) = (machine[$0], machine[$1])
      return one.priority != other.priority ? one.priority > other.priority : one.order < other.order
    }
  }

  private mutating func event(_ name: String, _ member: MemberID?, _ body: (inout Machine, inout Machine.Next) -> Void)
  {
    let (before, line, slots) = (machine, line, machine.slotsTaken)
    var next = Machine.Next()
    body(&machine, &next)
    trace.append("\(name) \(member.map(String.init) ?? "")")
    let startsWorker = machine.completeEvent(&next)
    if startsWorker { workersStarting += 1 }
    for (member, step) in next.steps { take(step, for: member) }
    if let member = next.execute { take(.start, for: member) }
    record(name, member, before)
    check(name, before, line, slots, next)
  }

  private mutating func record(_ name: String, _ member: MemberID?, _ before: Machine) {
    for (index, previous) in before.members.enumerated() where previous.isPresent {
      let to = machine.members.indices.contains(index) ? machine.members[index].phase : .finished
      if MemberID(index) == member {
        seen[name, default: [:]][previous.phase, default: []].insert(to)
      } else if previous.phase != to {
        // A run that was in line has started, or the whole queue was suspended or resumed.
        let event = previous.phase == .ready && to == .starting ? "started" : name
        seen[event, default: [:]][previous.phase, default: []].insert(to)
      }
    }
  }

  private mutating func check(_ name: String, _ before: Machine, _ line: [MemberID], _ slots: Int, _ next: Machine.Next)
  {
    if machine.slotsTaken > max(machine.width, slots) { objections.append("\(name): \(machine.slotsTaken) slots") }
    if machine.members.count(where: \.holdsSlot) != machine.slotsTaken {
      objections.append("\(name): slots miscounted")
    }
    let present = machine.members.filter { $0.isPresent }
    if present.count(where: { !$0.isNested }) != machine.count { objections.append("\(name): runs miscounted") }
    if present.count(where: { !$0.isNested && $0.phase.awaitsStart }) != machine.waitingCount {
      objections.append("\(name): waiting runs miscounted")
    }
    for (index, member) in machine.members.enumerated() where member.isPresent {
      let id = MemberID(index)
      let isWaiting = member.phase == .ready
      if machine.held.contains(id) != (member.phase == .held)
        || machine.ready.contains(id) != (isWaiting && !member.isNested)
        || machine.returning.contains(id) != (isWaiting && member.isNested || member.isReturning)
      {
        objections.append("\(name): \(id) is in a wrong line")
      }
    }
    let started = line.filter { machine[$0].phase == .starting }
    if started != Array(line.prefix(started.count)), name != "raised" {
      objections.append("\(name): \(started) overtook others of \(line)")
    }
    guard machine.slotsTaken < machine.width else { return }
    if !machine.returning.isEmpty, machine.slotsTaken < before.width || name != "raised" {
      objections.append("\(name): a body waits for a free slot")
    }
    guard !machine.isSuspended, let first = self.line.first else { return }
    // A run that was raised before those of workers starts when the starting worker asks.
    if workersStarting == 0 { objections.append("\(name): no worker will execute \(first)") }
    if workersStarting > 1 { objections.append("\(name): \(workersStarting) workers are starting") }
  }
}
