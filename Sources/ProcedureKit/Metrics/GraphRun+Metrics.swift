extension GraphRun {
  /// The metrics of a node that has only a body: all the time before its start counts as pending. `run` is the run of a node that needed one.
  func metrics(
    from begin: ProcedureInstant?, to end: ProcedureInstant, _ attempts: Int, _ run: Run?
  ) -> ProcedureMetrics? {
    guard isObservedFromStart, begin != nil || attempts == 0 else { return nil }
    let begin = begin ?? end
    guard var metrics = run?.metrics else {
      return ProcedureMetrics(
        pending: start.duration(to: begin), executing: begin.duration(to: end), attempts: attempts)
    }
    // The run was made while the body executed already.
    metrics.pending += start.duration(to: begin)
    metrics.executing += max(start.duration(to: end) - metrics.total, .zero)
    return metrics
  }

  /// How long a node has waited before it came to the queue, if it was there for `time`; zero if that is not known.
  func timeSinceStart(to end: ProcedureInstant, without time: Duration) -> Duration {
    start.nanoseconds < 0 ? .zero : max(start.duration(to: end) - time, .zero)
  }
}

extension GraphShape {
  /// The dependencies of each node. O(n + e) for n nodes and e edges.
  func dependencies() -> [[Int32]] {
    var dependencies = Array(repeating: [Int32](), count: max(offsets.count - 1, 0))
    for node in dependencies.indices {
      for successor in successors[successorRange(of: Int32(node))] {
        dependencies[Int(successor / 2)].append(Int32(node))
      }
    }
    return dependencies
  }
}
