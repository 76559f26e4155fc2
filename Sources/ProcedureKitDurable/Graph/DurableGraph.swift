public import ProcedureKit
internal import ProcedureKitFoundation

/// A graph that stores the values of its nodes in a journal and executes only the nodes whose values are missing. To create one, use
/// `durable(in:as:version:rememberingFailures:)`.
public struct DurableGraph<Input: Sendable, Output: Sendable>: Procedure {
  private let graph: ProcedureGraph<Input, Output>
  private let plan: DurablePlan
  private let encode: @Sendable (Input, any ProcedureCoder) throws -> [UInt8]

  init(
    _ graph: ProcedureGraph<Input, Output>, in journal: any ProcedureJournal, as key: String?, version: Int,
    remembersFailures: Bool, encode: @escaping @Sendable (Input, any ProcedureCoder) throws -> [UInt8]
  ) {
    self.graph = graph
    self.encode = encode
    plan = DurablePlan(
      graph.plan, name: key ?? graph.name, version: .version(version, of: key ?? graph.name),
      outputs: Set(graph.outputNodes), journal: journal, remembersFailures: remembersFailures)
  }

  /// The name of the graph.
  public var name: String { graph.name }

  /// Runs the graph without a queue. If a body calls this function, the graph becomes part of that body's run.
  ///
  /// Cancelling the caller cancels the graph. The function returns when all nodes that are executing have ended.
  ///
  /// - Parameter input: The input of the graph.
  /// - Returns: The value of the output node.
  /// - Throws: Any error thrown by `ProcedureGraph.execute(_:)` or by the journal; ``JournalError`` if a value cannot be encoded or
  ///   decoded, or if an entry is lost or changed while the graph runs.
  @concurrent public func execute(_ input: Input) async throws -> Output {
    try await procedureTask.execute(input)
  }

  /// The graph as a `ProcedureTask`.
  public var procedureTask: ProcedureTask<Input, Output> {
    ProcedureTask(name) { input in
      let context = ProcedureContext.requireCurrent(for: name)
      let run = try await DurableRun(
        plan, input: fingerprint(of: input), readsDurations: graph.ordersNodes(in: context))
      return try await graph.execute(input, by: run.graph(), in: context)
    }
  }

  /// Returns a plan that shows what would happen to each node if a run started now, and why. No node is executed. Cancelling the caller has
  /// no effect.
  ///
  /// - Parameter input: The input of the graph.
  /// - Returns: The nodes that the run would reuse, and the nodes that it would execute.
  /// - Throws: ``JournalError`` if the input cannot be encoded; any error that the journal throws.
  public func resumptionPlan(for input: Input) async throws -> ResumptionPlan {
    try await ResumptionPlan(plan, input: fingerprint(of: input))
  }

  private func fingerprint(of input: Input) throws -> Fingerprint {
    do {
      return Fingerprint(of: try encode(input, plan.journal.coder))
    } catch {
      throw JournalError(
        .valueNotEncodable, journal: plan.journal.name, "could not encode the input of \"\(name)\"", underlying: error)
    }
  }
}

extension DurableGraph: InputlessProcedure where Input == Void {
  /// Runs a graph without an input; see ``execute(_:)``.
  ///
  /// - Throws: Any error thrown by ``execute(_:)``.
  @concurrent public func execute() async throws -> Output {
    try await execute(())
  }

  /// Returns a plan that shows what would happen to each node if a run started now, and why; see ``resumptionPlan(for:)``.
  ///
  /// - Throws: Any error thrown by ``resumptionPlan(for:)``.
  public func resumptionPlan() async throws -> ResumptionPlan {
    try await resumptionPlan(for: ())
  }
}

extension ProcedureGraph where Input: Encodable {
  /// Returns a graph that stores the values of its nodes in a journal, so that a run can continue where an earlier run was interrupted.
  ///
  /// ```swift
  /// let durable = thumbnails.durable(in: journal)
  /// let images = try await queue.run(durable, input: "kitten.ppm")
  /// ```
  ///
  /// When a node finishes, its value is written to the journal before any dependent node starts. A later run reuses the stored values. For
  /// each reused value, the queue publishes a `reused` event with the name of the journal. A node is executed again if any of these has
  /// changed: its name, its `version(_:)`, the graph's name or version, or the value of a dependency. All nodes that depend on it are then
  /// executed again as well. The reason is logged and is available as `ProcedureEvent.executionCause` and
  /// `QueueSnapshot.Entry.executionCause`. To find out the reason before a run, use ``DurableGraph/resumptionPlan(for:)``.
  ///
  /// The journal also stores how long each node took. A node that is executed again is expected to take as long as it did the last time. If
  /// more nodes are ready than can execute at a time, these expectations determine the order in which the nodes start (see
  /// `Procedure.expected(duration:)`). The journal provides the durations only if it implements ``ProcedureJournal/latestKey(at:)``.
  ///
  /// The journal stores a value only if it is `Codable`. For a node whose value is `Void`, the journal records only that the node finished.
  /// A node whose value is not `Codable` is executed again if it has no dependents, or if another node that is executed needs its value.
  /// Nothing is stored for a cancelled node. A nested graph is treated as a single node. The values of its own nodes are stored only if the
  /// nested graph is durable as well. The modifier `keyed(by:)` has no effect on a node.
  ///
  /// A value that a body requests by key (`ProcedureContext.value(of:)`) is stored if both the key and the value are `Codable`. The entry
  /// also contains the requests that were made to compute the value. If an entry contains requests, a later run first requests the same
  /// values in the same order. The body is executed again only if one of these values has changed. A volatile value is computed in each run
  /// that requests it. If the value is the same as before, the bodies that requested it are not executed. Nothing is stored for a body that
  /// requests a key that is not `Codable`, a key of an enclosing graph, or a volatile key of a graph within the body. In a graph that
  /// declares key types, a node whose value is not `Codable` is executed in each run.
  ///
  /// Each body is executed at least once: if a body was executing when the process was killed, it is executed again.
  ///
  /// - Parameters:
  ///   - journal: The journal that stores the values. If an entry cannot be appended, the node fails.
  ///   - key: The name of the graph in the journal. If it is `nil`, the graph's own name is used. Two graphs that share a journal need
  ///     different names.
  ///   - version: A version that applies to all nodes. If the version changes, all nodes are executed again. Passing a negative version
  ///     traps.
  ///   - rememberingFailures: Whether failures are stored as well. If they are, a later run fails with ``RememberedFailure``. Errors that
  ///     mean that the body was not executed, such as `ProcedureError.Kind.rateExceeded`, are not stored.
  /// - Returns: A graph that uses the journal.
  public func durable(
    in journal: any ProcedureJournal, as key: String? = nil, version: Int = 1, rememberingFailures: Bool = false
  ) -> DurableGraph<Input, Output> {
    DurableGraph(self, in: journal, as: key, version: version, remembersFailures: rememberingFailures) { input, coder in
      try coder.encode(input)
    }
  }
}

extension ProcedureGraph where Input == Void {
  /// Returns a graph that has no input and stores the values of its nodes in a journal; see `durable(in:as:version:rememberingFailures:)`.
  public func durable(
    in journal: any ProcedureJournal, as key: String? = nil, version: Int = 1, rememberingFailures: Bool = false
  ) -> DurableGraph<Input, Output> {
    DurableGraph(self, in: journal, as: key, version: version, remembersFailures: rememberingFailures) { _, _ in [] }
  }
}

extension ProcedureGraph {
  /// This overload is unavailable, because the input of a durable graph is part of each key, and must therefore be `Encodable`.
  @available(*, unavailable, message: "the input of a durable graph must be Encodable, because it is part of each key")
  public func durable(
    in journal: any ProcedureJournal, as key: String? = nil, version: Int = 1, rememberingFailures: Bool = false
  ) -> DurableGraph<Input, Output> {
    fatalError(
      "durable(in:as:version:rememberingFailures:) of \"\(name)\" needs an Encodable input: make \(Input.self) Encodable"
    )
  }
}
