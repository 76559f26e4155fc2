/// The kind of a `ProcedureEvent`, without the details: for comparing and counting.
public enum EventStep: String, Hashable, Sendable, CaseIterable {
  /// The run was admitted to its queue.
  case didAttach
  /// The body is about to start.
  case willExecute
  /// The body has ended.
  case didExecute
  /// The run was cancelled in time.
  case didCancel
  /// A child is about to be produced.
  case willProduce
  /// A child has been produced.
  case didProduce
  /// A value that was there already is used instead of executing the body.
  case reused
  /// Another attempt follows.
  case retrying
  /// The outcome is decided.
  case willFinish
  /// The outcome can be read.
  case didFinish
  /// Events were lost, since the subscriber was too slow.
  case gap
  /// A kind of event that this version of the testing kit does not know.
  case other
}

extension ProcedureEvent {
  /// The kind of the event, without the details.
  public var step: EventStep { kind.step }
}

extension ProcedureEvent.Kind {
  /// The kind of event without what it carries.
  public var step: EventStep {
    let name = Mirror(reflecting: self).children.first?.label ?? "\(self)"
    return EventStep(rawValue: name) ?? .other
  }
}

extension Sequence<ProcedureEvent> {
  /// The steps of all events, or of the run `id` alone, in order.
  public func steps(of id: ProcedureID? = nil) -> [EventStep] {
    filter { id == nil || $0.id == id }.map(\.step)
  }

  /// The violations of the order of a run's events (rule L2), in words; empty if nothing does.
  ///
  /// `didAttach` comes first, `didCancel` at most once and before `willFinish`, `didFinish` last; the body ends as often
  /// as it starts, and instants never go back. The events must be complete from the first of each run on; runs that have
  /// not finished yet are looked at as far as they have come.
  public func orderViolations() -> [String] {
    let runs = Dictionary(grouping: self, by: \.id)
    return runs.keys.sorted().flatMap { id in
      Self.violations(of: runs[id] ?? []).map { "\(id): \($0): \((runs[id] ?? []).map(\.step.rawValue))" }
    }
  }

  private static func violations(of events: [ProcedureEvent]) -> [String] {
    var violations: [String] = []
    func expect(_ condition: Bool, _ words: String) {
      if !condition { violations.append(words) }
    }
    let steps = events.map(\.step)
    func count(_ step: EventStep) -> Int { steps.count { $0 == step } }
    expect(steps.first == .didAttach && count(.didAttach) == 1, "begins with one didAttach")
    expect(count(.didCancel) <= 1, "is cancelled once at most")
    expect(count(.willFinish) <= 1 && count(.didFinish) <= 1, "finishes once")
    if let finish = steps.firstIndex(of: .didFinish) {
      expect(finish == steps.count - 1, "nothing follows didFinish")
      expect(count(.willExecute) == count(.didExecute), "every execution ends")
      expect(steps.firstIndex(of: .willFinish).map { $0 < finish } ?? false, "willFinish comes before didFinish")
    }
    if let end = steps.firstIndex(of: .willFinish) {
      expect(!steps[end...].contains(.didCancel), "didCancel comes before willFinish")
      expect(!steps[end...].contains(.willExecute), "nothing executes after willFinish")
    }
    expect(zip(events, events.dropFirst()).allSatisfy { $0.instant <= $1.instant }, "instants never go back")
    return violations
  }
}
