/// A graph that remembers the values of its nodes in a journal, and executes only the missing nodes; see
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

  /// Runs the graph without a queue, or as a part of the calling body. Cancelling the caller cancels the graph; the function
  /// returns when all executing nodes have ended.
  ///
  /// - Parameter input: The input of the graph.
  /// - Returns: The value of the output node.
  /// - Throws: The errors of ``ProcedureGraph/execute(_:)``, and ``JournalError`` or the journal's own errors.
  @concurrent public func execute(_ input: Input) async throws -> Output {
    try await procedureTask.execute(input)
  }

  /// The graph as a task.
  public var procedureTask: ProcedureTask<Input, Output> {
    ProcedureTask(name) { input in
      let run = try await DurableRun(plan, input: fingerprint(of: input))
      return try await graph.execute(input, by: run.graph(), in: .ofBody(name))
    }
  }

  /// Returns what a run would do at this moment, and why. Executes nothing. Cancelling the caller has no effect.
  ///
  /// - Parameter input: The input of the graph.
  /// - Returns: The nodes that the run would reuse, and those that it would execute.
  /// - Throws: The errors of the journal, and ``JournalError`` if the input cannot be encoded.
  public func resumptionPlan(for input: Input) async throws -> ResumptionPlan {
    try await ResumptionPlan(plan, input: fingerprint(of: input))
  }

  private func fingerprint(of input: Input) throws -> Fingerprint {
    do {
      return Fingerprint(of: try encode(input, plan.journal.coder))
    } catch {
      throw JournalError(
        .valueNotEncodable, journal: plan.journal.name, "cannot take the input of \"\(name)\"", underlying: error)
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

  /// Returns what a run would do at this moment, and why; see ``resumptionPlan(for:)``.
  ///
  /// - Throws: The errors of ``resumptionPlan(for:)``.
  public func resumptionPlan() async throws -> ResumptionPlan {
    try await resumptionPlan(for: ())
  }
}
