extension QueueCore {
  /// Waits until there is room for one more run, on the queue and of its key, and reserves it.
  ///
  /// - Throws: `CancellationError`, or the reason of the cancel, if the caller is cancelled before there is room;
  ///   `exclusionDeadlock` if the caller is a body for which the queue waits.
  func reserveRoom(for key: InternedKey?) async throws {
    guard limitsWaiting else { return }
    let id = key.map(ObjectIdentifier.init)
    if withState({ $0.room.reserve(for: id, $0.machine) }) { return }
    let wakeup = Wakeup()
    let hasRoom = send { state, _ in
      if state.isShutDown { state.room.reserved(id) }
      if state.isShutDown || state.room.reserve(for: id, state.machine) { return true }
      state.room.enter(WaitingRoom.Caller(wakeup: wakeup, key: id))
      return false
    }
    guard !hasRoom else { return }
    if let run = ProcedureContext.current?.run.living {
      await ProcedureContext.waiting(for: .room(self, key), at: wakeup) { _ = await run.wait(at: wakeup) }
    } else {
      _ = await wakeup.wait()
    }
    let refusal = wakeup.refusal
    guard wakeup.wasLeft || refusal != nil else { return }
    // The room may be enough for another caller.
    send { state, _ in state.room.callerLeft() }
    throw refusal ?? ProcedureContext.current?.cancellationReason ?? CancellationError()
  }

  /// Reserves room for one more run if there is room at once and the queue admits the run; nobody is overtaken or replaced.
  func reserveRoomAtOnce(for key: InternedKey?) -> Bool {
    if withState(\.isShutDown), !isAround(ProcedureContext.current?.run.living) { return false }
    return !limitsWaiting || withState { $0.room.reserve(for: key.map(ObjectIdentifier.init), $0.machine) }
  }

  /// The runs one of which has to start so that there is room; none if there is room, or room is about to be used.
  func runsWaiting(for key: InternedKey?) -> [Run] {
    let id = key.map(ObjectIdentifier.init)
    return withState { state in
      guard let waitsForKey = state.room.waitsForKey(id, state.machine) else { return [] }
      return state.machine.present.compactMap { member in
        let entry = state.machine[member]
        guard entry.takesRoom, entry.phase.isBeforeStart, let run = entry.payload else { return nil }
        return waitsForKey && run.keyID != id ? nil : run
      }
    }
  }
}
