/// Internal. The reading side of a stream of progress, which has only the newest value.
final class ProgressReader: EventReader {
  private let part: ProgressPart

  private init(_ part: ProgressPart) {
    self.part = part
  }

  deinit {
    part.remove(ObjectIdentifier(self))
  }

  /// The progress of a run, until it ends.
  static func values(of run: Run) -> AsyncStream<ProcedureProgress> {
    ProgressReader(run.progressPart).stream { [name = run.name] in
      await ProcedureContext.lendingSlot(forEventOf: name, $0)
    }
  }

  func take() -> ProcedureProgress? { part.take(for: ObjectIdentifier(self)) }

  func register(_ waiter: Waiter) -> EventWait {
    switch part.register(waiter, for: ObjectIdentifier(self)) {
    case true?: .notAtAll
    case false?: .forEvents
    case nil: .inVain
    }
  }

  func wake() { part.wake(ObjectIdentifier(self)) }
}
