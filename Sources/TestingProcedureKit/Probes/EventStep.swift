/// The kind of a `ProcedureEvent` without associated values, for comparing and counting.
public enum EventStep: String, Hashable, Sendable, CaseIterable {
  /// The run was admitted to its queue.
  case didAttach
  /// The body is about to start.
  case willExecute
  /// The body has ended.
  case didExecute
  /// The run was cancelled before its outcome was decided.
  case didCancel
  /// A child is about to be produced.
  case willProduce
  /// A child was produced.
  case didProduce
  /// Another attempt follows.
  case retrying
  /// The outcome is decided.
  case willFinish
  /// The outcome is available.
  case didFinish
  /// A kind of event that is unknown to this version of the testing kit.
  case other
}

extension ProcedureEvent {
  /// The kind of the event, without associated values.
  public var step: EventStep { kind.step }
}

extension ProcedureEvent.Kind {
  /// The kind, without associated values.
  public var step: EventStep {
    let name = Mirror(reflecting: self).children.first?.label ?? "\(self)"
    return EventStep(rawValue: name) ?? .other
  }
}

extension Sequence<ProcedureEvent> {
  /// Returns the kinds of all events, or of the events of the run `id`, in order.
  public func steps(of id: ProcedureID? = nil) -> [EventStep] {
    filter { id == nil || $0.id == id }.map(\.step)
  }

  /// Returns the violations of the order of events within a run (DESIGN.md, rule L2), in words; an empty array if there
  /// are none.
  ///
  /// `didAttach` comes first, `didCancel` at most once and before `willFinish`, and `didFinish` last. The body ends as
  /// often as the body starts, and instants never go back. The sequence has to contain every event from the first of
  /// each run. Unfinished runs are checked as far as their events go.
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
