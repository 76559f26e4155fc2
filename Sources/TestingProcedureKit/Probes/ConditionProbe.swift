/// A condition whose result is controlled by a test.
///
/// ```swift
/// let online = ConditionProbe("online")
/// let handle = queue.add(procedure.condition(.probe(online)))
/// try await online.waitUntilEvaluated()
/// online.satisfy()
/// ```
///
/// Each evaluation waits for one instruction: `satisfy`, `ignore` or `fail`. Evaluations receive instructions in the order in which the
/// evaluations began. If a waiting evaluation is cancelled, it throws `CancellationError` immediately.
public final class ConditionProbe: Sendable {
  /// The name of the condition in errors and outcomes.
  public let name: String

  private let commands = CommandQueue<Bool>()
  private let prepared = AwaitableCounter()
  private let evaluated = AwaitableCounter()

  /// Creates a probe for a condition called `name`.
  public init(_ name: String = "ConditionProbe") {
    self.name = name
  }

  /// Makes the oldest waiting evaluation return `true`. If no evaluation is waiting, the next one returns `true`.
  public func satisfy() {
    commands.send(.success(true))
  }

  /// Makes the oldest waiting evaluation return `false`. If no evaluation is waiting, the next one returns `false`.
  public func ignore() {
    commands.send(.success(false))
  }

  /// Makes the oldest waiting evaluation throw `error`. If no evaluation is waiting, the next one throws it.
  public func fail(_ error: any Error) {
    commands.send(.failure(error))
  }

  /// Makes all waiting evaluations return `true`. Later evaluations also return `true` unless they receive another instruction.
  public func satisfyAll() {
    commands.broadcast(.success(true))
  }

  /// The number of times that the condition's `prepare` step has been executed.
  public var prepareCount: Int { prepared.count }

  /// The number of evaluations that have begun.
  public var evaluationCount: Int { evaluated.count }

  /// Waits until `count` evaluations have begun. Cancelling the caller ends the wait.
  ///
  /// - Throws: `CancellationError` if the task is already cancelled, or is cancelled while it is waiting.
  public func waitUntilEvaluated(_ count: Int = 1) async throws {
    try await evaluated.wait(for: count)
  }

  /// The condition. It can be used any number of times.
  var condition: Condition {
    Condition(name) {
      self.prepared.increment()
    } evaluate: {
      self.evaluated.increment()
      return try await self.commands.next(ignoringCancellation: false)
    }
  }
}

extension Condition {
  /// Returns a condition whose result is controlled through `probe`.
  public static func probe(_ probe: ConditionProbe) -> Condition {
    probe.condition
  }
}
