extension QueueCore {
  /// Waits until both the queue and the layer's key have room for one more run, and reserves the room. A body holds no slot while it waits
  /// (Q3).
  ///
  /// - Throws: `CancellationError`, or the reason for the cancellation, if the caller is cancelled before there is room;
  ///   `exclusionDeadlock` if the caller is a body that the waiting runs depend on (R4).
  @usableFromInline @concurrent
  func reserveRoom(for layer: ModifierLayer) async throws {
    guard limitsWaiting else { return }
    let key = layer.traits.key?.value
    let id = key.map(ObjectIdentifier.init)
    let signal = send { state, _ -> OneShotSignal? in
      if state.limiter.reserveIfFree(for: id, state.machine) { return nil }
      // A queue that was shut down refuses the run, so the caller does not wait.
      if state.isShutDown {
        state.limiter.addReservation(id)
        return nil
      }
      // The queue or the key is full, so the caller waits.
      let signal = OneShotSignal()
      state.limiter.enqueue(AdmissionLimiter.Caller(signal: signal, key: id))
      return signal
    }
    guard let signal else { return }
    await ProcedureContext.waiting(for: .room(self, key), at: signal) { _ = await ProcedureContext.wait(at: signal) }
    let refusal = signal.refusal
    guard signal.wasCancelled || refusal != nil else { return }
    // The caller is no longer waiting, so the room can go to another caller.
    send { state, _ in state.limiter.callerCancelled() }
    throw refusal ?? ProcedureContext.cancellationError
  }

  /// Reserves room for one more run if the queue can admit the run immediately. Returns `false` instead of overtaking a waiting caller or
  /// replacing a run.
  func reserveRoomAtOnce(for key: InternedKey?) -> Bool {
    if read({ $0.isShutDown }) { return false }
    return !limitsWaiting
      || send { state, _ in state.limiter.reserveIfFree(for: key.map(ObjectIdentifier.init), state.machine) }
  }

  /// Returns the waiting runs that occupy the room. At least one of them must start before there is room for another run.
  ///
  /// The array is empty if there is room, or if another caller has reserved room but has not added its run yet.
  func runsWaiting(for key: InternedKey?) -> [Run] {
    let id = key.map(ObjectIdentifier.init)
    return read { state in
      guard let waitsForKey = state.limiter.waitsForKey(id, state.machine) else { return [] }
      return state.unfinishedRuns { run, entry in
        entry.countsAsWaiting && (!waitsForKey || run.keyID == id)
      }
    }
  }
}
