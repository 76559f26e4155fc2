extension QueueCore {
  /// Waits until there is room for one more run, and reserves it.
  ///
  /// - Throws: `CancellationError`, or the reason of the cancel, if the caller is cancelled before there is room.
  func reserveRoom() async throws {
    guard limitsWaiting, !withState({ reserveRoom(for: nil, &$0) }) else { return }
    let place = Place()
    if withState({ reserveRoom(for: place, &$0) }) { return }
    if let run = ProcedureContext.current?.run.living {
      await ProcedureContext.waiting(for: .room(self)) { _ = await run.wait(at: place) }
    } else {
      _ = await place.wait()
    }
    guard place.wasLeft else { return }
    throw ProcedureContext.current?.cancellationReason ?? CancellationError()
  }

  /// Reserves room for one more run if there is room at once and the queue admits the run; nobody is overtaken or replaced.
  func reserveRoomAtOnce() -> Bool {
    if withState(\.isShutDown), !isAround(ProcedureContext.current?.run.living) { return false }
    return !limitsWaiting
      || withState { state in
        guard hasFreeRoom(state) else { return false }
        state.room.reserved()
        return true
      }
  }

  /// Reserves room, also on a queue that has been shut down, which refuses the run then. Without room, the caller waits at `place`.
  private func reserveRoom(for place: Place?, _ state: inout State) -> Bool {
    guard state.isShutDown || hasFreeRoom(state) else {
      if let place { state.room.enter(place) }
      return false
    }
    state.room.reserved()
    return true
  }

  /// Whether a new caller finds room, without overtaking waiting callers.
  private func hasFreeRoom(_ state: State) -> Bool {
    !state.room.isAwaited && state.room.hasRoom(state.machine.waitingCount)
  }

  /// The runs one of which has to start so that there is room; none if a place is free or about to be used.
  var runsWaiting: [Run] {
    withState { state in
      guard !state.room.isReserved, !state.room.hasRoom(state.machine.waitingCount) else { return [] }
      return state.machine.present.compactMap { member in
        let entry = state.machine[member]
        return !entry.takesRoom || !entry.phase.isBeforeStart ? nil : entry.payload
      }
    }
  }
}
