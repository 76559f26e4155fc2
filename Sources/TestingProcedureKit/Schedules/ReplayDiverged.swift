/// A replay string that does not fit: the body took another order than the order of the failure.
///
/// The string belongs to another body, to another build (debug or release), or to an earlier version of the code. If the
/// code is the same, then equal choices run differently: because of random numbers that are not from
/// `ExplorationEnvironment.random`, of the time of day, the order of a `Set` or `Dictionary`, state that outlives a
/// schedule, or work on other threads.
public struct ReplayDiverged: Error, Sendable, CustomStringConvertible {
  /// The step at or shortly before which the orders begin to differ, counted from `1`.
  public var step: Int

  /// The number of steps of the failure's order.
  public var expectedSteps: Int

  /// The order of strands that was taken instead; see `ExplorationFailure.order`.
  public var order: [Int]

  /// The problems of the order that was taken instead. An empty array means that the body passed.
  public var problems: [ExplorationProblem]

  /// The divergence in words, with its possible causes.
  public var description: String {
    "the replay diverged by step \(step) of \(expectedSteps) (now \(order.count.counting("step"))): the string belongs "
      + "to other code or another build, or the body is not deterministic"
      + problems.map { "\n  \($0)" }.joined()
  }
}
