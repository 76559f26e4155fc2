extension QueueCore {
  /// Waits until there is room for one more run, and reserves it.
  ///
  /// - Throws: `CancellationError`, or the reason of the cancel, if the caller is cancelled before there is room.
  func reserveRoom() async throws {
    guard limitsWaiting else { return }
    let place = Place()
    let hasRoom = withState { state in
      // A new caller does not overtake waiting callers.
      if state.isShutDown || (!state.room.isAwaited && state.room.hasRoom(state.machine.waitingCount)) {
        state.room.reserved()
        return true
      }
      state.room.enter(place)
      return false
    }
    guard !hasRoom else { return }
    if let run = ProcedureContext.current?.run.living {
      await ProcedureContext.waiting(for: .room(self)) { _ = await run.wait(at: place) }
    } else {
      _ = await place.wait()
    }
    guard place.wasLeft else { return }
    throw ProcedureContext.current?.cancellationReason ?? CancellationError()
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
