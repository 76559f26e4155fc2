extension Sequence<ProcedureEvent> {
  /// The kinds of all events, or of the events of the run `id` alone, in order.
  public func steps(of id: ProcedureID? = nil) -> [ProcedureEvent.Kind] {
    filter { id == nil || $0.id == id }.map(\.kind)
  }

  /// The violations of the order of a run's events (rule L2), in words; empty if nothing does.
  ///
  /// `didAttach` comes first, `didCancel` at most once and before `willFinish`, `didFinish` last; the body ends as often
  /// as it starts, and instants never go back. The events must be complete from the first of each run on; runs that have
  /// not finished yet are looked at as far as they have come.
  public func orderViolations() -> [String] {
    let runs = Dictionary(grouping: self, by: \.id)
    return runs.keys.sorted().flatMap { id in
      Self.violations(of: runs[id] ?? []).map { "\(id): \($0): \((runs[id] ?? []).map(\.kind))" }
    }
  }

  private static func violations(of events: [ProcedureEvent]) -> [String] {
    var violations: [String] = []
    func expect(_ condition: Bool, _ words: String) {
      if !condition { violations.append(words) }
    }
    let steps = events.map(\.kind)
    func count(_ step: ProcedureEvent.Kind) -> Int { steps.count { $0 == step } }
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
