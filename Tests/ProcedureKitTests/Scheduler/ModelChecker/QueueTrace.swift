import TestingProcedureKit

@testable import ProcedureKit

/// What a subscriber to the events of a queue sees. All other steps of a ``QueueWorld`` are hidden.
enum TraceEvent: Hashable {
  /// A run of the kind with the number was admitted.
  case attached(kind: Int)
  /// The body of a run starts. Runs are numbered by their order of admission.
  case executes(Int)
  case cancelled(Int)
  case finished(Int, successfully: Bool)
}

extension TraceEvent {
  /// The number of the kind of a run that was admitted.
  var kind: Int? { if case .attached(let kind) = self { kind } else { nil } }

  /// Returns the trace of the events of a queue on which the names of the procedures are the numbers of their kinds.
  static func trace(of events: [ProcedureEvent]) -> [TraceEvent] {
    var numbers: [ProcedureID: Int] = [:]
    return events.compactMap { event in
      if event.kind == .didAttach { numbers[event.id] = numbers.count }
      guard let number = numbers[event.id] else { return nil }
      return switch event.step {
      case .didAttach: Int(event.name).map { .attached(kind: $0) }
      case .willExecute: .executes(number)
      case .didCancel: .cancelled(number)
      case .didFinish(let outcome): .finished(number, successfully: outcome.isFinished)
      default: nil
      }
    }
  }
}

extension QueueWorld {
  /// Returns what a subscriber sees of a step that leads to another state; `nil` if the step is hidden.
  func event(of step: UInt16, to next: QueueWorld) -> TraceEvent? {
    if step >= Self.admission(of: 0) { return .attached(kind: Int(step - Self.admission(of: 0))) }
    let index = Int(step & 3)
    return switch Action(rawValue: step >> 2) {
    case .start: next.runs[index].task == .body ? .executes(index) : nil
    case .publish, .endAtOnce: .finished(index, successfully: next.runs[index].hasSucceeded)
    case .cancel, .notify: next.runs[index].isCancelled && !runs[index].isCancelled ? .cancelled(index) : nil
    default: nil
    }
  }
}

/// Decides whether traces are paths of a ``QueueWorld``, whatever hidden steps are between their events.
final class TraceReplay {
  /// The states in which a trace can end. The nodes form a tree, because many traces begin in the same way.
  private final class Node {
    var worlds: [QueueWorld]
    var next: [TraceEvent: Node] = [:]
    var isExpanded = false
    /// Whether every run can have ended after the trace.
    var isOver = false

    init(_ worlds: [QueueWorld]) { self.worlds = worlds }
  }

  private let root: Node
  private(set) var stateCount = 0
  /// The violations of invariants in the states of the paths.
  private(set) var violations: [Violation] = []

  init(_ bounds: QueueBounds) {
    let world = QueueWorld(bounds)
    world.check()
    root = Node([world])
  }

  /// Returns the position of the first event that is not possible; `nil` if the trace is a path to a state in which every run has ended.
  func firstImpossibleEvent(of trace: [TraceEvent]) -> Int? {
    var node = root
    for (position, event) in trace.enumerated() {
      expand(node)
      guard let next = node.next[event] else { return position }
      node = next
    }
    expand(node)
    return node.isOver ? nil : trace.count
  }

  /// Visits the states that are reachable by hidden steps, and sorts the other steps by their events.
  private func expand(_ node: Node) {
    guard !node.isExpanded else { return }
    node.isExpanded = true
    var (pending, seen) = (node.worlds, Set(node.worlds.map { $0.fingerprint() }))
    var reached: [TraceEvent: (worlds: [QueueWorld], seen: Set<UInt64>)] = [:]
    while let world = pending.popLast() {
      stateCount += 1
      if world.isOver { node.isOver = true }
      var steps: ContiguousArray<UInt16> = []
      _ = world.addSteps(to: &steps)
      for step in steps {
        let next = world.copied()
        next.perform(step)
        let event = world.event(of: step, to: next)
        let fingerprint = next.fingerprint()
        let isNew =
          if let event { reached[event, default: ([], [])].seen.insert(fingerprint).inserted } else {
            seen.insert(fingerprint).inserted
          }
        guard isNew else { continue }
        next.check()
        if let violation = next.violation { violations.append(violation) }
        if let event { reached[event]?.worlds.append(next) } else { pending.append(next) }
      }
    }
    node.worlds = []
    node.next = reached.mapValues { Node($0.worlds) }
  }
}
