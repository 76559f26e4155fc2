public import ProcedureKit
internal import ProcedureKitFoundation

/// A graph that remembers the values of its nodes in a journal, and executes only the nodes whose values are missing; see
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

  /// Runs the graph without a queue, or as part of the calling body.
  ///
  /// Cancelling the caller cancels the graph; the function returns when all nodes that are executing have ended.
  ///
  /// - Parameter input: The input of the graph.
  /// - Returns: The value of the output node.
  /// - Throws: The errors of `ProcedureGraph.execute(_:)`; ``JournalError``, or the journal's own errors.
  @concurrent public func execute(_ input: Input) async throws -> Output {
    try await procedureTask.execute(input)
  }

  /// The graph as a task.
  public var procedureTask: ProcedureTask<Input, Output> {
    ProcedureTask(name) { input in
      let run = try await DurableRun(plan, input: fingerprint(of: input))
      return try await graph.execute(input, by: run.graph(), in: .requireCurrent(for: name))
    }
  }

  /// Returns what a run would currently do with each node, and why. Does not execute any node. Cancelling the caller has no effect.
  ///
  /// - Parameter input: The input of the graph.
  /// - Returns: The nodes that the run would reuse, and the nodes that it would execute.
  /// - Throws: The errors of the journal, and ``JournalError`` if the input cannot be encoded.
  public func resumptionPlan(for input: Input) async throws -> ResumptionPlan {
    try await ResumptionPlan(plan, input: fingerprint(of: input))
  }

  private func fingerprint(of input: Input) throws -> Fingerprint {
    do {
      return Fingerprint(of: try encode(input, plan.journal.coder))
    } catch {
      throw JournalError(
        .valueNotEncodable, journal: plan.journal.name, "cannot store the input of \"\(name)\"", underlying: error)
    }
  }
}

extension DurableGraph: InputlessProcedure where Input == Void {
  /// Runs a graph without an input; see ``execute(_:)``.
  ///
  /// - Throws: The errors of ``execute(_:)``.
  @concurrent public func execute() async throws -> Output {
    try await execute(())
  }

  /// Returns what a run would currently do with each node, and why; see ``resumptionPlan(for:)``.
  ///
  /// - Throws: The errors of ``resumptionPlan(for:)``.
  public func resumptionPlan() async throws -> ResumptionPlan {
    try await resumptionPlan(for: ())
  }
}

extension ProcedureGraph where Input: Encodable {
  /// Returns the graph with a journal that lets the next run continue a run that was killed.
  ///
  /// ```swift
  /// let durable = thumbnails.durable(in: journal)
  /// let images = try await queue.run(durable, input: "kitten.ppm")
  /// ```
  ///
  /// The value of each node is written when the node has finished, and before any node that depends on it starts. A new run uses the
  /// existing values: for each node whose value exists, there is an event `reused` with the name of the journal. A node is executed again
  /// if its name, its `version(_:)`, the version or the name of the graph, or the value of a dependency has changed. The nodes that depend
  /// on it are then executed again as well. The reason is logged, and is available as `ProcedureEvent.executionCause`,
  /// `QueueSnapshot.Entry.executionCause` and, before the run, from ``DurableGraph/resumptionPlan(for:)``.
  ///
  /// A value is remembered if it is `Codable`. For a node without a value, the journal records that the node has finished. A node whose
  /// value is not `Codable` is executed again if an executed node needs the value, or if no node depends on it. A cancelled node is not
  /// remembered. A nested graph counts as one node; its own nodes are remembered only if the nested graph is itself durable. The
  /// `keyed(by:)` of a node has no effect.
  ///
  /// Each body is executed at least once: if a body was executing when the process was killed, it is executed again.
  ///
  /// - Parameters:
  ///   - journal: The journal. If an append fails, the node fails.
  ///   - key: The name of the graph in the journal. `nil` uses the graph's name. Two graphs that share a journal need different names.
  ///   - version: The version of all nodes. Changing it causes all nodes to be executed again. A negative version traps.
  ///   - rememberingFailures: Whether failures are remembered as well: a later run then fails with ``RememberedFailure``.
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
  /// For a graph without an input, returns the graph with a journal; see `durable(in:as:version:rememberingFailures:)`.
  public func durable(
    in journal: any ProcedureJournal, as key: String? = nil, version: Int = 1, rememberingFailures: Bool = false
  ) -> DurableGraph<Input, Output> {
    DurableGraph(self, in: journal, as: key, version: version, remembersFailures: rememberingFailures) { _, _ in [] }
  }
}

extension ProcedureGraph {
  /// Unavailable, because the input of a durable graph is part of each key.
  @available(*, unavailable, message: "the input of a durable graph must be Encodable, since each key depends on it")
  public func durable(
    in journal: any ProcedureJournal, as key: String? = nil, version: Int = 1, rememberingFailures: Bool = false
  ) -> DurableGraph<Input, Output> {
    fatalError(
      "durable(in:as:version:rememberingFailures:) of \"\(name)\" needs an Encodable input: make \(Input.self) Encodable"
    )
  }
}
