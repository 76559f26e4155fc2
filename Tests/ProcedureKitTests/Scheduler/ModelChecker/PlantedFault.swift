@testable import ProcedureKit

/// A mistake that a test plants into a world, to show that the search finds it. Each one omits, adds or changes an event of
/// a machine or an effect of the event, as a mistake in the machine or in a driver would.
enum PlantedFault: CaseIterable {
  // Of the queue.
  case stepLost, returnLost, workerNotStarted, twoWorkersStarted
  case slotKeptInWait, slotKeptInPause, slotNotReacquired
  case newestFirst, priorityNotApplied, keysInOrderOfAdmission, weightTooLarge, keyIgnored
  case ageingIgnored, ageingTooSlow, ageingDuringSuspension
  case claimNotReleased, claimReleasedAtStart, claimForgottenInPause, claimOvertakes, grantLost, lateGrantStarts
  case claimsKeptBySuspension, suspensionIgnored
  case dependencyIgnored, dependentForgotten, failureIsSuccess
  case cancelledRunStarts, cancelledRunStaysInLine
  // Of the room.
  case reservationLost, reservationReleasedTwice, newcomerOvertakes, callerLost, cancelledCallerGetsRoom
  // Of graphs.
  case graphWorkerLost, nodeExecutedTwice, dependencyCountedTwice, successorForgotten, ranksIgnored

  /// The space in which a search finds a fault, and the invariant that the fault violates first.
  enum Space {
    case queue(QueueBounds, Invariant)
    case room(RoomBounds, Invariant)
    case graph(GraphBounds, Invariant)
  }

  var space: Space {
    switch self {
    case .stepLost, .workerNotStarted: .queue(ModelSpaces.waits, .reasons)
    case .returnLost, .slotKeptInWait, .slotNotReacquired: .queue(ModelSpaces.waits, .slots)
    case .slotKeptInPause: .queue(ModelSpaces.pauses, .slots)
    case .twoWorkersStarted: .queue(ModelSpaces.waits, .work)
    case .newestFirst: .queue(ModelSpaces.priorities, .order)
    case .priorityNotApplied:
      .queue(QueueBounds(kinds: [RunKind(), RunKind(isUrgent: true)], runs: 2, raises: 1), .order)
    case .keysInOrderOfAdmission: .queue(ModelSpaces.turns, .order)
    case .weightTooLarge: .queue(ModelSpaces.weights, .order)
    case .ageingIgnored, .ageingTooSlow: .queue(ModelSpaces.ageing, .ageing)
    case .ageingDuringSuspension:
      .queue(
        QueueBounds(kinds: [RunKind(), RunKind(isUrgent: true)], runs: 2, width: 1, suspensions: 1, intervals: 1),
        .order)
    case .keyIgnored: .queue(ModelSpaces.keyLimit, .slots)
    case .claimNotReleased, .claimReleasedAtStart: .queue(ModelSpaces.claims, .claims)
    case .claimForgottenInPause: .queue(ModelSpaces.pauses, .claims)
    case .claimOvertakes: .queue(ModelSpaces.claims, .requests)
    case .grantLost: .queue(ModelSpaces.claims, .reasons)
    case .lateGrantStarts: .queue(ModelSpaces.edges, .reasons)
    case .claimsKeptBySuspension, .suspensionIgnored: .queue(ModelSpaces.claims, .suspension)
    case .dependencyIgnored, .failureIsSuccess: .queue(ModelSpaces.edges, .dependencies)
    case .dependentForgotten: .queue(ModelSpaces.edges, .progress)
    case .cancelledRunStarts: .queue(ModelSpaces.priorities, .cancellation)
    case .cancelledRunStaysInLine: .queue(ModelSpaces.priorities, .reasons)
    case .reservationLost, .reservationReleasedTwice, .newcomerOvertakes, .callerLost, .cancelledCallerGetsRoom:
      .room(ModelSpaces.rooms[0], .room)
    case .graphWorkerLost, .nodeExecutedTwice, .successorForgotten:
      .graph(GraphBounds(count: 3, edges: [(0, 1, false), (0, 2, false)]), .dependencies)
    case .dependencyCountedTwice:
      .graph(GraphBounds(count: 3, edges: [(0, 2, false), (1, 2, false)]), .dependencies)
    case .ranksIgnored: .graph(GraphBounds(count: 3, edges: [], ranks: [2, 1, 0]), .dependencies)
    }
  }
}
