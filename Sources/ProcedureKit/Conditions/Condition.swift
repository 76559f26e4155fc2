/// Something that has to hold before a procedure is executed.
///
/// A condition is a value: it describes a test, which is made anew for each run. It is satisfied, or not satisfied (the
/// procedure is *ignored*: not executed, and not a failure), or it fails (the procedure fails without being executed).
///
/// Conditions are evaluated after the procedure's dependencies have finished and before it takes a slot of its queue, all
/// conditions of one level at once; never while the queue is suspended. The first that fails decides, and cancels the
/// others; otherwise one that is not satisfied makes the procedure ignored.
public struct Condition: Sendable {
  /// What errors, outcomes and logs call it.
  public let name: String
  private let judgement: @Sendable (_ prepares: Bool) async -> ConditionVerdict

  /// A condition from an async predicate.
  ///
  /// - Parameters:
  ///   - name: What errors, outcomes and logs call it.
  ///   - prepare: Called before `evaluate`, to bring about what it tests: to ask for a permission, to connect. If it
  ///     throws, the condition fails and is not evaluated. ``silent(_:)`` leaves it out.
  ///   - evaluate: `true`: satisfied. `false`: not satisfied, the procedure is ignored. Throws: failed.
  ///
  /// Both run in a task that is cancelled when the run is cancelled or another condition has failed; neither holds a slot.
  public init(
    _ name: String, prepare: (@concurrent @Sendable () async throws -> Void)? = nil,
    evaluate: @escaping @concurrent @Sendable () async throws -> Bool
  ) {
    self.init(name) { prepares in
      do {
        if prepares, let prepare { try await prepare() }
        return try await evaluate() ? .satisfied : .ignored(by: name)
      } catch {
        return .failed(condition: name, error: error)
      }
    }
  }

  init(_ name: String, judgement: @escaping @Sendable (_ prepares: Bool) async -> ConditionVerdict) {
    self.name = name
    self.judgement = judgement
  }

  /// Evaluates the condition once. Cancelling the caller cancels what it runs, which may still return a verdict.
  ///
  /// - Parameter prepares: Whether its `prepare` step is made.
  /// - Returns: What it came to.
  func judge(prepares: Bool = true) async -> ConditionVerdict {
    await judgement(prepares)
  }

  /// Evaluates all conditions of one level at once.
  ///
  /// Returns when all have returned; the first failure cancels the others. Cancelling the caller cancels all.
  static func judge(_ conditions: [Condition], prepares: Bool = true) async -> ConditionVerdict {
    if conditions.count == 1 { return await conditions[0].judge(prepares: prepares) }
    let (results, failure) = await Spawner.runAll(
      conditions.count, operation: { await conditions[$0].judge(prepares: prepares) }, until: \.isFailed)
    if let failure { return failure }
    return results.lazy.compactMap(\.self).first { !$0.isSatisfied } ?? .satisfied
  }
}
