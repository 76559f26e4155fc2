import Synchronization

/// The tasks of a queue: children of discarding task groups, each with a few hundred children at most.
///
/// The runtime finds a child that ends by going through its group, so that one group of many thousand children would cost quadratic time.
final class WorkerCrews: Sendable {
  private static let mostMembers = 256

  private struct Crew {
    let desk: CrewDesk
    var members = 0
  }

  private struct State {
    var crews: [Crew] = []
    var isClosed = false
  }

  private let executor: (any TaskExecutor)?
  private let state = Mutex(State())

  init(executor: (any TaskExecutor)?) {
    self.executor = executor
  }

  /// Starts a task of the queue.
  func start(_ operation: @escaping @Sendable () async -> Void) {
    let (desk, isNew) = state.withLock { state -> (CrewDesk, Bool) in
      if let index = state.crews.lastIndex(where: { $0.members < Self.mostMembers }) {
        state.crews[index].members += 1
        return (state.crews[index].desk, false)
      }
      let crew = Crew(desk: CrewDesk(), members: 1)
      state.crews.append(crew)
      return (crew.desk, true)
    }
    desk.place(
      .add { [self] in
        await operation()
        left(desk)
      })
    if isNew { Spawner.startCrew(at: desk, executor: executor) }
  }

  private func left(_ desk: CrewDesk) {
    let closed = state.withLock { state -> CrewDesk? in
      guard let index = state.crews.firstIndex(where: { $0.desk === desk }) else { return nil }
      state.crews[index].members -= 1
      guard state.crews[index].members == 0, state.crews.count > 1 || state.isClosed else { return nil }
      return state.crews.remove(at: index).desk
    }
    closed?.close()
  }

  /// Ends the groups, each when its last member has ended.
  func close() {
    let idle = state.withLock { state in
      state.isClosed = true
      let idle = state.crews.filter { $0.members == 0 }
      state.crews.removeAll { $0.members == 0 }
      return idle
    }
    for crew in idle { crew.desk.close() }
  }
}
