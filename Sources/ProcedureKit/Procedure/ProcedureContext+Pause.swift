/// Internal. Waiting between two pieces of work.
extension ProcedureContext {
  /// Waits, and holds meanwhile neither the slot nor what the levels around it hold.
  ///
  /// It takes no task. Cancelling the task ends it at once, and so does a cancel of the run or of any part of it that this is
  /// in. Afterwards there is a slot again, the queue is not suspended, and what was held is.
  ///
  /// - Parameters:
  ///   - delay: How long; if it is not positive, only the turn is waited for.
  ///   - timers: What measures that; those of the queue unless they are given.
  /// - Throws: The reason of a cancel, or `CancellationError`; ``ProcedureError/exclusionDeadlock(procedure:circle:)``.
  func pause(for delay: Duration, _ timers: Timers? = nil) async throws {
    try requireNotCancelled()
    if delay > .zero {
      let timers = timers ?? scope.timers
      let end = timers.now.advanced(by: delay.saturated.roundedUpToNanoseconds)
      try await givingUpEverything(until: end) { await wait(until: end, timers) }
    } else {
      try await takeUpAgain()
      await scope.takeTurn(in: self)
    }
    try requireNotCancelled()
  }

  /// Waits for what a part may have given up for a pause in which it was stopped: the slot, and what is held around the part.
  /// Whatever goes on after it goes on with both.
  ///
  /// - Throws: ``ProcedureError/exclusionDeadlock(procedure:circle:)``; the reason of a cancel.
  func takeUpAgain() async throws {
    await scope.waitForSlot(in: self)
    let lost = holdsOfLevels.filter { !$0.isHeld }
    guard !lost.isEmpty else { return }
    // One of them may still stand in line, with nobody who waits for it.
    giveBack(lost)
    try requireNotCancelled()
    try await reclaim(lost)
  }

  private func giveBack(_ holds: [ResourceHold]) {
    for hold in holds { ResourceTable.deliver(ResourceBook.shared.end(hold)) }
  }

  /// Calls `operation`, which waits for something, while the run pauses.
  ///
  /// - Parameters:
  ///   - end: How long it waits, if that is known.
  ///   - operation: Returns at once when the run is cancelled.
  /// - Returns: What `operation` returns.
  /// - Throws: ``ProcedureError/exclusionDeadlock(procedure:circle:)``; the reason of a cancel.
  func givingUpEverything<R>(until end: ProcedureInstant? = nil, _ operation: () async -> R) async throws -> R {
    let holds = holdsOfLevels
    scope.pauseStarted(until: end)
    giveBack(holds)
    scope.lendSlot()
    let result = await operation()
    await scope.regainSlot(unlessCancelled: self)
    await scope.takeTurn(in: self)
    scope.pauseEnded()
    try requireNotCancelled()
    try await reclaim(holds)
    return result
  }

  private func wait(until end: ProcedureInstant, _ timers: Timers) async {
    let place = Place()
    let timer = timers.schedule(at: end) { place.call() }
    let isOver = await withRunCancellationHandler(in: self, key: place) {
      await place.wait()
    } onCancel: {
      place.leave()
    }
    if !isOver { timers.cancel(timer) }
  }

  /// - Throws: The reason of a cancel, or `CancellationError`.
  func requireNotCancelled() throws {
    if isCancelled { throw cancellationReason ?? CancellationError() }
  }
}
