@testable import ProcedureKit

/// The bounds of a ``RoomWorld``.
struct RoomBounds {
  var callers = 4
  var limit = 1
  var limitPerKey = Int.max
  /// The keys that a caller can have; 0 for none.
  var keys: [UInt8] = [0]
  var overflow = QueueOverflow.refuse
  /// Whether callers can also add a run without waiting, in which case it can replace another one.
  var addsAtOnce = false
  var cancellations: UInt8 = 1
}

/// A queue of one slot that limits its waiting runs, and callers that wait for room.
///
/// The limiter refers to the signals of its callers, which a cancellation changes. Therefore a cancellation first performs all steps of the
/// path again, with new signals, so that it does not change other states.
final class RoomWorld: ModelWorld {
  enum Stage: UInt8 {
    case absent, waiting
    /// The limiter has reserved room, and the caller has not been resumed yet.
    case given
    case reserved, ready, executing, replaced
    /// The wait was cancelled, and the limiter has not been informed yet.
    case leaving
    case over
  }

  struct Caller {
    var stage = Stage.absent
    var key: UInt8 = 0
    var isCancelled = false
    var member: MemberID = -1
  }

  let bounds: RoomBounds
  let fault: PlantedFault?
  private(set) var machine: QueueMachine
  private(set) var limiter: AdmissionLimiter
  private(set) var callers: [Caller]
  private var signals: [OneShotSignal]
  private var arrived = 0
  private var cancellations: UInt8
  private var path: [UInt16] = []
  private(set) var violation: Violation?

  init(_ bounds: RoomBounds, fault: PlantedFault? = nil) {
    (self.bounds, self.fault, cancellations) = (bounds, fault, bounds.cancellations)
    machine = QueueMachine(
      width: 1, isSuspended: false, fairQueue: FairQueue(listsKeysWithCapacity: bounds.limitPerKey < .max))
    limiter = AdmissionLimiter(limit: bounds.limit, limitPerKey: bounds.limitPerKey, overflow: bounds.overflow)
    callers = Array(repeating: Caller(), count: bounds.callers)
    signals = (0..<bounds.callers).map { _ in OneShotSignal() }
  }

  private init(copying other: RoomWorld) {
    (bounds, fault, machine, limiter) = (other.bounds, other.fault, other.machine, other.limiter)
    (callers, signals, arrived) = (other.callers, other.signals, other.arrived)
    (cancellations, path) = (other.cancellations, other.path)
  }

  func copied() -> Self { Self(copying: self) }

  var isOver: Bool { callers.allSatisfy { $0.stage == .absent || $0.stage == .over } }

  private func fail(_ invariant: Invariant, _ message: @autoclosure () -> String) {
    if violation == nil { violation = Violation(invariant: invariant, message: message()) }
  }

  // MARK: Steps

  enum Action: UInt16 { case resume, add, leave, end, cancel, arrive, addAtOnce }

  private static func step(_ action: Action, _ index: Int) -> UInt16 { action.rawValue * 4 + UInt16(index) }

  func name(of step: UInt16) -> String { Action(rawValue: step / 4).map { "\($0) \(step % 4)" } ?? "\(step)" }

  func addSteps(to steps: inout ContiguousArray<UInt16>) -> Int {
    let start = steps.count
    for (index, caller) in callers.enumerated() {
      switch caller.stage {
      case .absent, .waiting, .ready, .over: break
      case .given: steps.append(Self.step(.resume, index))
      case .reserved: steps.append(Self.step(.add, index))
      case .leaving: steps.append(Self.step(.leave, index))
      case .executing, .replaced: steps.append(Self.step(.end, index))
      }
    }
    let certain = steps.count - start
    if cancellations > 0 {
      for (index, caller) in callers.enumerated() where caller.stage == .waiting || caller.stage == .given {
        steps.append(Self.step(.cancel, index))
      }
    }
    guard arrived < bounds.callers else { return certain }
    for key in bounds.keys.indices {
      steps.append(Self.step(.arrive, key))
      if bounds.addsAtOnce { steps.append(Self.step(.addAtOnce, key)) }
    }
    return certain
  }

  func perform(_ step: UInt16) {
    guard let action = Action(rawValue: step / 4) else { return }
    let index = Int(step % 4)
    if action == .cancel { renewSignals() }
    path.append(step)
    var next = QueueMachine.Next()
    let waiting = callers.map { $0.stage == .waiting }
    switch action {
    case .arrive: arrive(bounds.keys[index])
    case .addAtOnce: addAtOnce(bounds.keys[index], &next)
    case .resume: resume(index)
    case .add:
      if fault != .reservationLost { limiter.releaseReservation(id(of: index)) }
      if fault == .reservationReleasedTwice { limiter.releaseReservation(id(of: index)) }
      admit(index, &next)
    case .leave:
      limiter.callerCancelled()
      callers[index].stage = .over
    case .cancel:
      cancellations -= 1
      callers[index].isCancelled = true
      if callers[index].stage == .waiting { callers[index].stage = .leaving }
      if fault != .cancelledCallerGetsRoom { signals[index].cancel() }
    case .end: end(index, &next)
    }
    giveRoom(waiting)
    for (member, step) in next.steps where step == .start {
      if let index = callers.firstIndex(where: { $0.member == member }) { callers[index].stage = .executing }
    }
  }

  private func id(of index: Int) -> ObjectIdentifier? { QueueWorld.id(ofKey: callers[index].key) }

  /// Performs the path again with signals that no other state refers to.
  private func renewSignals() {
    let world = RoomWorld(bounds, fault: fault)
    for step in path { world.perform(step) }
    (machine, limiter, callers, signals) = (world.machine, world.limiter, world.callers, world.signals)
  }

  private func arrive(_ key: UInt8) {
    let index = arrived
    arrived += 1
    callers[index].key = key
    if limiter.reserveIfFree(for: id(of: index), machine) {
      callers[index].stage = .reserved
    } else if fault == .newcomerOvertakes {
      limiter.addReservation(id(of: index))
      callers[index].stage = .reserved
    } else {
      limiter.enqueue(AdmissionLimiter.Caller(signal: signals[index], key: id(of: index)))
      callers[index].stage = .waiting
    }
  }

  private func addAtOnce(_ key: UInt8, _ next: inout QueueMachine.Next) {
    let index = arrived
    arrived += 1
    callers[index].key = key
    guard limiter.refusal(for: id(of: index), machine) != nil else { return admit(index, &next) }
    guard let replaced = limiter.takeReplaceable(of: id(of: index), machine) else {
      callers[index].stage = .over
      return
    }
    admit(index, &next)
    guard let other = callers.firstIndex(where: { $0.member == replaced }), callers[other].stage == .ready,
      callers[other].key == key, machine.interrupted(replaced)
    else { return fail(.room, "a run was replaced that does not wait") }
    callers[other].stage = .replaced
  }

  private func admit(_ index: Int, _ next: inout QueueMachine.Next) {
    let (member, step) = machine.admitted(
      QueueMachine.Member(priority: 0, takesRoom: true),
      key: machine.fairQueue.isUsed ? (id(of: index), 1) : nil, &next)
    callers[index].member = member
    callers[index].stage = step == .start ? .executing : .ready
    limiter.addReplaceable(member, of: id(of: index), machine)
  }

  private func resume(_ index: Int) {
    // The caller was cancelled after it had been given room, so the room goes to another caller.
    if callers[index].isCancelled {
      limiter.releaseReservation(id(of: index))
      callers[index].stage = .leaving
    } else {
      callers[index].stage = .reserved
    }
  }

  private func end(_ index: Int, _ next: inout QueueMachine.Next) {
    let member = callers[index].member
    if callers[index].stage == .executing {
      machine.bodyStarted(member)
      machine.bodyEnded(member, &next)
    }
    machine.finished(member)
    (callers[index].stage, callers[index].member) = (.over, -1)
  }

  /// Gives room to the callers that fit, as `QueueCore.send` does after each event.
  private func giveRoom(_ waiting: [Bool]) {
    while let caller = limiter.takeNextCaller(&machine) {
      guard let index = signals.firstIndex(where: { $0 === caller.signal }) else {
        return fail(.room, "an unknown caller")
      }
      if fault == .callerLost { continue }
      if callers[index].stage != .waiting {
        fail(.room, "caller \(index) is \(callers[index].stage) and is given room")
      }
      callers[index].stage = .given
      for other in 0..<index where waiting[other] && callers[other].stage == .waiting {
        if bounds.limitPerKey == .max || callers[other].key == callers[index].key {
          fail(.room, "caller \(index) is given room before caller \(other)")
        }
      }
    }
  }

  // MARK: Invariants

  func check() {
    let reservations = callers.count { $0.stage == .given || $0.stage == .reserved }
    let waiting = callers.count { $0.stage == .ready }
    if reservations != limiter.reservations || waiting != machine.waitingCount || waiting + reservations > bounds.limit
    {
      fail(
        .room, "\(waiting) runs wait and \(reservations) reservations: \(machine.waitingCount), \(limiter.reservations)"
      )
    }
    for key in bounds.keys where key != 0 {
      let count = callers.count { $0.key == key && ($0.stage == .given || $0.stage == .reserved || $0.stage == .ready) }
      if count > bounds.limitPerKey { fail(.room, "\(count) of key \(key)") }
    }
    for (index, caller) in callers.enumerated() {
      if caller.stage == .waiting, limiter.refusal(for: id(of: index), machine) == nil {
        fail(.room, "there is room for caller \(index), which waits")
      }
      if caller.member >= 0, machine[caller.member].phase != phase(of: caller.stage) { fail(.runs, "run \(index)") }
    }
    if machine.slotsTaken != callers.count(where: { $0.stage == .executing }) { fail(.slots, "\(machine.slotsTaken)") }
  }

  private func phase(of stage: Stage) -> RunPhase {
    switch stage {
    case .executing: .starting
    case .replaced: .finishing
    default: .ready
    }
  }

  func fingerprint() -> UInt64 {
    // The first key in use gets the first name.
    let first = callers.first { $0.key != 0 && $0.stage != .over }?.key ?? 1
    var hash = Fingerprint()
    var word = UInt64(arrived) | UInt64(cancellations) << 3
    for (index, caller) in callers.enumerated() where caller.stage != .over && caller.stage != .absent {
      let key = caller.key == 0 || first == 1 ? caller.key : 3 - caller.key
      var word = UInt64(caller.stage.rawValue) | UInt64(key) << 4 | (caller.isCancelled ? 1 << 6 : 0)
      word |= UInt64(place(of: signals[index], limiter.queue.all.map(\.signal)) ?? 7) << 8
      word |= UInt64(place(of: signals[index], limiter.promoted.all.map(\.signal)) ?? 7) << 12
      if let state = id(of: index).flatMap({ limiter.keys[$0] }) {
        word |= UInt64(place(of: signals[index], state.parked.all.map(\.signal)) ?? 7) << 16
        word |= state.hasPromotedCaller ? 1 << 20 : 0
      }
      hash.combine(word)
    }
    word |= UInt64(limiter.keysToPromote.count) << 6
    // A cancelled caller may have been forgotten, and still be in the limiter.
    word |= UInt64(limiter.callerCount) << 10
    hash.combine(word)
    return hash.result
  }

  private func place(of signal: OneShotSignal, _ signals: [OneShotSignal]) -> Int? {
    signals.firstIndex { $0 === signal }
  }
}
