import ProcedureKit
import TestSupport

/// The spaces of states that the tests enumerate.
enum ModelSpaces {
  private static let plain = RunKind()
  private static let urgent = RunKind(isUrgent: true, isDrivenByWorker: false)

  /// Priorities, a worker and callers' tasks, a cancellation, and a suspension. An ordinary run leaves out the raised priority here.
  static let priorities = QueueBounds(
    kinds: [plain, urgent], runs: 3, cancellations: 1, suspensions: 1, raises: TestDepth.isAtLeastGate ? 1 : 0)
  /// Two resources, with exclusive and shared claims.
  static let claims = QueueBounds(
    kinds: [RunKind(resources: 1), RunKind(isUrgent: true, resources: 3, isExclusive: false, isDrivenByWorker: false)],
    runs: 3, suspensions: 1)
  /// A pause between two executions, in which the claim and the slot are released. An ordinary run leaves out the suspension here, too.
  static let pauses = QueueBounds(
    kinds: [RunKind(resources: 1, pauses: true), RunKind(resources: 2, isDrivenByWorker: false, pauses: true)],
    runs: 2, width: 1, cancellations: 1, suspensions: TestDepth.isAtLeastGate ? 1 : 0)
  /// Two keys that take turns.
  static let turns = QueueBounds(
    kinds: [RunKind(key: 1), RunKind(key: 2)], runs: 4, width: 1, takesTurns: true, raises: 1)
  /// Two keys, one of which starts two runs in each of its turns.
  static let weights = QueueBounds(
    kinds: [RunKind(key: 1), RunKind(key: 2, weight: 2)], runs: 4, width: 1, takesTurns: true, cancellations: 1)
  /// Two keys with a limit of one slot each. An ordinary run leaves out the suspension, which triples the number of states.
  static let keyLimit = QueueBounds(
    kinds: [RunKind(key: 1, waits: true), RunKind(key: 2), urgent], runs: 3, limitPerKey: 1, cancellations: 1,
    suspensions: TestDepth.isAtLeastGate ? 1 : 0)
  /// An edge between two runs, at their admission and later, conditions, and a delay.
  static let edges = QueueBounds(
    kinds: [RunKind(hasConditions: true), RunKind(resources: 1, hasDelay: true, dependsOnPrevious: true)],
    runs: 2, cancellations: 1, suspensions: 1, addedDependencies: 1)
  /// Bodies that wait, and bodies that execute a run which claims the same resource, while the width changes.
  static let waits = QueueBounds(
    kinds: [RunKind(waits: true), RunKind(resources: 1, isDrivenByWorker: false, nests: true)],
    runs: 3, width: 1, widthChanges: 1)

  /// Runs that rise to the higher priority after they have waited for an interval. An ordinary run leaves out the suspension, and ages the
  /// runs only once.
  static let ageing = QueueBounds(
    kinds: [plain, urgent], runs: 3, width: 1, cancellations: 1, suspensions: TestDepth.isAtLeastGate ? 1 : 0,
    intervals: TestDepth.isAtLeastGate ? 2 : 1)
  /// Runs that rise, with a claim, and with keys that take turns and have a limit.
  static let ageingKeys = QueueBounds(
    kinds: [RunKind(key: 1, resources: 1), RunKind(isUrgent: true, key: 2, waits: true)], runs: 3, width: 2,
    takesTurns: true, limitPerKey: 1, intervals: 1)

  /// Everything in one space: four runs, two slots, two resources, two keys, an edge, priorities, a cancellation, a suspension and a pause.
  static let everything = QueueBounds(
    kinds: [
      RunKind(key: 1, resources: 1, pauses: true),
      RunKind(isUrgent: true, key: 2, resources: 2, isDrivenByWorker: false),
      RunKind(resources: 3, dependsOnPrevious: true),
    ],
    takesTurns: true, limitPerKey: 1, cancellations: 1, suspensions: 1)

  /// The spaces of queues that a test enumerates. Each of the small ones covers a part of what can happen.
  static var queues: [(name: String, bounds: QueueBounds)] {
    let small = [
      ("priorities", priorities), ("claims", claims), ("pauses", pauses), ("turns", turns), ("weights", weights),
      ("limit of a key", keyLimit), ("edges", edges), ("waits", waits),
      ("ageing", ageing), ("ageing with keys", ageingKeys),
    ]
    return TestDepth.current == .deep ? [("everything", everything)] + small : small
  }

  /// The least number of states in all spaces together.
  static var leastStates: Int { TestDepth.current == .deep ? 10_000_000 : 100_000 }

  /// The limits on the callers that wait for room.
  static let rooms: [RoomBounds] = [
    RoomBounds(limit: 1), RoomBounds(limit: 2, keys: [0, 1]),
    RoomBounds(limit: 2, limitPerKey: 1, keys: [0, 1, 2]),
    RoomBounds(limit: 3, limitPerKey: 1, keys: [1, 2], overflow: .replaceOldest, addsAtOnce: true),
    RoomBounds(limit: 1, keys: [0, 1], overflow: .replaceNewest, addsAtOnce: true),
  ]

  /// Every graph of up to three nodes, and of four in a deep run, in its variants.
  static var graphs: [GraphBounds] {
    GraphBounds.all(upTo: TestDepth.current == .deep ? 4 : 3).flatMap { graph -> [GraphBounds] in
      var (narrow, lenient, ordered, ranked) = (graph, graph, graph, graph)
      narrow.limit = 1
      lenient.stopsAtFirstFailure = false
      ordered.hasPriorities = true
      ranked.ranks = [1, 0, 1, 2].prefix(graph.count).map(\.self)
      return [graph, narrow, lenient, ordered, ranked]
    }
  }
}
