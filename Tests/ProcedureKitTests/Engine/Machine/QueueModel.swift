@testable import ProcedureKit

/// What a queue's decisions are meant to be: arrays that are searched, and one rule after another.
///
/// It is told the same events as a ``QueueMachine``, follows the actions that the machine returns, and objects to those
/// that break a rule. After each visit to the machine's lock it compares what both believe.
struct QueueModel {
  enum Line: Int, CaseIterable {
    case evaluations
    case ready
    case returning
    /// Behind one that holds what these want.
    case following
  }

  enum Phase {
    case pending
    case evaluating
    case waiting
    case executing
    /// Its outcome is decided; it has not left.
    case decided

    var state: ProcedureState {
      switch self {
      case .pending: .pending
      case .evaluating: .evaluating
      case .waiting: .waiting
      case .executing: .executing
      case .decided: .finishing
      }
    }
  }

  struct Member {
    let kind: QueueMachine.Kind
    var priority: UInt8
    let order: UInt64
    let hasConditions: Bool
    /// What it wants alone; 0 for something else, or nothing.
    let wish: UInt64
    var phase = Phase.evaluating
    /// When it came into each line in which it stands, 0 where it does not.
    var places = (evaluations: 0, ready: 0, returning: 0, following: 0)
    var resources = QueueMachine.Resources.none
    var holdsSlot = false
    var loans = 0
    var idleWaits = 0
    var pauses = 0
    var isCancelled = false

    func place(in line: Line) -> Int {
      switch line {
      case .evaluations: places.evaluations
      case .ready: places.ready
      case .returning: places.returning
      case .following: places.following
      }
    }

    /// Whoever holds resources comes before all others.
    var rank: UInt8 { resources == .held ? .max : priority }

    func stands(in line: Line) -> Bool { place(in: line) > 0 }

    var state: ProcedureState { phase == .executing && pauses > 0 ? .pausing : phase.state }

    var isListed: Bool { places != (0, 0, 0, 0) }
  }

  typealias Action = QueueMachine.Action

  var members: [Member?] = []
  var width: Int
  var isSuspended: Bool
  var isShutDown = false
  /// Whom others follow, for what, and of what priority they were as they came.
  var leader: Int32?
  var leadersWish: UInt64 = 0
  var followedPriority: UInt8 = 0
  var workerIsOrdered = false
  /// Whether a worker that has found nothing is about to look again.
  var workerLingers = false
  /// Workers that have put a claim off, and come back of themselves.
  var pausedWorkers = 0
  /// What has to be among the actions of the current event.
  var owed: [Action] = []
  private(set) var objection: String?
  private var lastPlace = 0
  private var lastOrder: UInt64?

  init(width: Int, isSuspended: Bool) {
    self.width = width
    self.isSuspended = isSuspended
  }

  mutating func object(_ text: String) {
    if objection == nil { objection = text }
  }

  subscript(index: Int32) -> Member {
    get {
      guard let member = members[Int(index)] else { preconditionFailure("no member \(index)") }
      return member
    }
    set { members[Int(index)] = newValue }
  }

  // MARK: Slots and lines

  var taken: Int { members.reduce(0) { $0 + ($1?.holdsSlot == true ? 1 : 0) } }
  var hasFreeSlot: Bool { taken < width }

  /// Who is first in a line: in that of the ready ones and of evaluations by priority and order of admission.
  func first(in line: Line) -> Int32? {
    var best: Int?
    for index in members.indices {
      guard let member = members[index], member.stands(in: line) else { continue }
      if let current = best, let other = members[current], !comes(member, before: other, in: line) { continue }
      best = index
    }
    return best.map(Int32.init)
  }

  func comes(_ member: Member, before other: Member, in line: Line) -> Bool {
    if line != .returning {
      if member.rank != other.rank { return member.rank > other.rank }
      if member.order != other.order { return member.order < other.order }
    }
    return member.place(in: line) < other.place(in: line)
  }

  /// Whether some ready member comes before this one, wherever it stands itself.
  func isOvertaken(_ index: Int32) -> Bool {
    guard let first = first(in: .ready) else { return false }
    let (member, other) = (self[index], self[first])
    return other.rank > member.rank || (other.rank == member.rank && other.order < member.order)
  }

  func isServedByWorker(_ index: Int32) -> Bool {
    self[index].kind == .detached && self[index].phase == .waiting
  }

  mutating func stand(_ index: Int32, in line: Line) {
    lastPlace += 1
    setPlace(lastPlace, of: index, in: line)
  }

  mutating func leave(_ line: Line, _ index: Int32) { setPlace(0, of: index, in: line) }

  private mutating func setPlace(_ place: Int, of index: Int32, in line: Line) {
    switch line {
    case .evaluations: self[index].places.evaluations = place
    case .ready: self[index].places.ready = place
    case .returning: self[index].places.returning = place
    case .following: self[index].places.following = place
    }
  }

  mutating func takeSlot(_ index: Int32) {
    if !hasFreeSlot { object("Q1: \(index) took a slot where none was free") }
    if self[index].holdsSlot { object("\(index) took a second slot") }
    if self[index].loans > 0 { object("Q3: \(index) took a slot while it awaits") }
    self[index].holdsSlot = true
  }

  mutating func noteOrder(of index: Int32, isInherited: Bool) {
    guard !isInherited else { return }
    if let lastOrder, self[index].order <= lastOrder { object("\(index) was not admitted last") }
    lastOrder = self[index].order
  }
}
