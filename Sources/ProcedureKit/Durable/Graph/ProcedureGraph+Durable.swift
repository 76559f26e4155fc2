extension ProcedureGraph where Input: Encodable {
  /// Returns the graph with a journal: a run that was killed is continued by the next one.
  ///
  /// ```swift
  /// let durable = thumbnails.durable(in: journal)
  /// let images = try await queue.run(durable, input: "kitten.ppm")
  /// ```
  ///
  /// The value of each node is written when the node has finished, and before any node that depends on it starts. A new run takes
  /// the values that are there: these nodes have the event `reused` with the name of the journal. A node is executed again if its
  /// name, its ``Procedure/version(_:)``, the version or the name of the graph, or the value of a dependency has changed, and so is
  /// everything that depends on the node. The log says why, and so do ``ProcedureEvent/executionCause``,
  /// ``QueueSnapshot/Entry/executionCause`` and, before the run, ``DurableGraph/resumptionPlan(for:)``.
  ///
  /// A value is remembered if it is `Codable`, or if the node has no value. A node with another value is executed again if a node that
  /// is executed needs the value, or if no node depends on it. A cancelled node is not remembered. A nested graph is one node, whose
  /// nodes are remembered if the nested graph is durable itself. The ``Procedure/keyed(by:)`` of a node has no effect.
  ///
  /// Each body is executed at least once: a body that was executing when the process was killed is executed again.
  ///
  /// - Parameters:
  ///   - journal: The journal. An append that fails, fails the node.
  ///   - key: The name of the graph in the journal. `nil` uses the graph's name. Two graphs in one journal need different names.
  ///   - version: The version of all nodes. Another version executes all nodes again. Less than 0 traps.
  ///   - rememberingFailures: Whether a failure is remembered, too: a later run fails with ``RememberedFailure``.
  /// - Returns: The graph with the journal.
  public func durable(
    in journal: any ProcedureJournal, as key: String? = nil, version: Int = 1, rememberingFailures: Bool = false
  ) -> DurableGraph<Input, Output> {
    DurableGraph(self, in: journal, as: key, version: version, remembersFailures: rememberingFailures) { input, coder in
      try coder.encode(input)
    }
  }
}

extension ProcedureGraph where Input == Void {
  /// Returns a graph without an input with a journal; see `durable(in:as:version:rememberingFailures:)`.
  public func durable(
    in journal: any ProcedureJournal, as key: String? = nil, version: Int = 1, rememberingFailures: Bool = false
  ) -> DurableGraph<Input, Output> {
    DurableGraph(self, in: journal, as: key, version: version, remembersFailures: rememberingFailures) { _, _ in [] }
  }
}

extension ProcedureGraph {
  /// Does not exist: the input of a durable graph is a part of each key.
  @available(*, unavailable, message: "the input of a durable graph must be Encodable, since each key depends on it")
  public func durable(
    in journal: any ProcedureJournal, as key: String? = nil, version: Int = 1, rememberingFailures: Bool = false
  ) -> DurableGraph<Input, Output> {
    fatalError(
      "durable(in:as:version:rememberingFailures:) of \"\(name)\" needs an Encodable input: make \(Input.self) Encodable"
    )
  }
}
