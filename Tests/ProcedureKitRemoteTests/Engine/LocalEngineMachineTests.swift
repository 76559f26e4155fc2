import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit
@testable import ProcedureKitRemote

/// Tests the machine of the local engine against a model, with events in random order.
@Suite struct LocalEngineMachineTests {
  private typealias Machine = LocalEngineMachine

  @Test(
    "Whatever happens, each caller is answered once, with an accepted outcome, and only the latest delivery is accepted",
    arguments: 0..<200)
  func random(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var machine = Machine(memory: 3)
    var time: Int64 = 0
    var now: ProcedureInstant { ProcedureInstant(nanoseconds: time) }
    var open: [Int: Machine.Key] = [:]
    var answered: Set<Int> = []
    var accepted: [Machine.Key: Set<[UInt8]>] = [:]
    var latest: [Machine.Key: Machine.Token] = [:]
    var old: [Machine.Token] = []
    var timers: [(token: Machine.Token, instant: ProcedureInstant)] = []
    var limits = RemoteLimits()
    (limits.startTimeout, limits.heartbeatTimeout) = (.nanoseconds(200), .nanoseconds(20))
    (limits.executionTimeout, limits.deliveries) = (.nanoseconds(90), 2)

    func perform(_ effects: Machine.Effects) {
      if let timer = effects.timer { timers.append(timer) }
      for (callers, answer) in effects.answers {
        for caller in callers {
          #expect(answered.insert(caller).inserted, "seed \(seed): caller \(caller) is answered twice")
          guard let key = open.removeValue(forKey: caller) else { continue }
          if case .success(let value) = answer { #expect(accepted[key]?.contains(value) == true, "seed \(seed)") }
        }
      }
    }

    func fireTimers() {
      while let index = timers.indices.filter({ timers[$0].instant <= now }).min(by: {
        timers[$0].instant < timers[$1].instant
      }) {
        perform(machine.timerWentOff(timers.remove(at: index).token, at: now))
      }
    }

    for step in 1...400 {
      time += Int64(random.below(8))
      fireTimers()
      switch random.below(6) {
      case 0:
        let key = Machine.Key(run: "\(random.below(5))", node: "n")
        open[step] = key
        perform(machine.called(RemoteCall(RemoteName("p"), key: key, input: [], limits: limits), by: step, at: now))
      case 1:
        guard let (caller, key) = open.randomElement(using: &random) else { continue }
        perform(machine.callerCancelled(caller, of: key, at: now))
      case 2:
        guard let (delivery, effects) = machine.workerAsked(at: now) else { continue }
        if let previous = latest.updateValue(delivery.token, forKey: delivery.call.key) { old.append(previous) }
        perform(effects)
      case 3:
        guard let token = latest.values.randomElement(using: &random) else { continue }
        _ = machine.heartbeatArrived(token, at: now)
      case 4:
        guard let (key, token) = latest.randomElement(using: &random) else { continue }
        let value = [UInt8(truncatingIfNeeded: step)]
        let outcome = random.pick(from: [RemoteOutcome.finished(value), .cancelled, .abandoned])
        accepted[key, default: []].insert(value)
        if let effects = machine.ended(token, outcome, at: now) {
          perform(effects)
        } else {
          accepted[key]?.remove(value)
        }
      default:
        guard let token = old.randomElement(using: &random) else { continue }
        #expect(machine.heartbeatArrived(token, at: now) == nil && machine.ended(token, .abandoned, at: now) == nil)
      }
    }
    // No worker is left, so each waiting caller is answered when its limits expire.
    time += 1_000
    for _ in 0..<10 {
      fireTimers()
      time += 1_000
    }
    #expect(open.isEmpty, "seed \(seed): \(open.count) callers wait forever")
  }

  @Test(
    "A cancelled call ends as cancelled, and not as failed, if its worker is lost or takes too long",
    arguments: [true, false])
  func cancelledCall(isLost: Bool) throws {
    let start = ProcedureInstant(nanoseconds: 0)
    var (machine, limits) = (Machine(memory: 1), RemoteLimits())
    (limits.executionTimeout, limits.deliveries) = (.nanoseconds(90), 1)
    limits.heartbeatTimeout = .nanoseconds(isLost ? 20 : 1_000)
    let call = RemoteCall(RemoteName("p"), key: Machine.Key(run: "r", node: "n"), input: [], limits: limits)
    _ = machine.called(call, by: 1, at: start)
    let asked = machine.workerAsked(at: start)
    let timer = try #require(asked?.effects.timer)
    #expect(machine.callerCancelled(1, of: call.key, at: start).answers.isEmpty)
    let answers = machine.timerWentOff(timer.token, at: timer.instant).answers
    #expect(answers.map(\.callers) == [[1]])
    #expect(throws: CancellationError.self) { try answers.first?.answer.get() }
  }

  @Test(
    "A cancelled caller that did not wait for the end of the execution receives no answer, but the next caller does")
  func impatientCaller() throws {
    let start = ProcedureInstant(nanoseconds: 0)
    var machine = Machine(memory: 1)
    let call = RemoteCall(RemoteName("p"), key: Machine.Key(run: "r", node: "n"), input: [])
    _ = machine.called(call, by: 1, at: start)
    let asked = machine.workerAsked(at: start)
    _ = machine.callerCancelled(1, of: call.key, at: start)
    machine.callerLeft(1, of: call.key)
    #expect(machine.called(call, by: 2, at: start).answers.isEmpty)
    #expect(machine.callerCancelled(1, of: call.key, at: start).answers.isEmpty)
    let ended = machine.ended(try #require(asked).delivery.token, .cancelled, at: start)
    #expect(ended?.answers.isEmpty == true)
    // The call is delivered again, for the other caller.
    let again = machine.workerAsked(at: start)
    let finished = machine.ended(try #require(again).delivery.token, .finished([7]), at: start)
    #expect(finished?.answers.map(\.callers) == [[2]])
  }

  @Test(
    "Calls that are cancelled or expire while no worker polls leave nothing behind, and the others keep their order")
  func staleCalls() {
    for isCancelled in [true, false] {
      var machine = LocalEngineMachine(memory: 0)
      var kept: [String] = []
      for number in 0..<10_000 {
        let call = RemoteCall(RemoteName("work"), key: RemoteCall.Key(run: "\(number)", node: "n"), input: [])
        let effects = machine.called(call, by: number, at: ProcedureInstant(nanoseconds: 0))
        if number.isMultiple(of: 1_000) {
          kept.append(call.key.run)
        } else if isCancelled {
          _ = machine.callerCancelled(number, of: call.key, at: ProcedureInstant(nanoseconds: 0))
        } else if let timer = effects.timer {
          _ = machine.timerWentOff(timer.token, at: timer.instant)
        }
        #expect(machine.waitingTokenCount <= 150)
      }
      var taken: [String] = []
      while let (delivery, _) = machine.workerAsked(at: ProcedureInstant(nanoseconds: 0)) {
        taken.append(delivery.call.key.run)
      }
      #expect(taken == kept && machine.waitingTokenCount == 0)
    }
  }
}
