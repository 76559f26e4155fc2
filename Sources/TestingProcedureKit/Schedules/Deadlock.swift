/// The state in which nothing can go on, although the body has not finished.
///
/// Work outside of the exploration's control that takes longer than `ScheduleExplorer.patience` looks the same.
public struct Deadlock: Hashable, Sendable, CustomStringConvertible {
  /// What became of the tasks that were stuck.
  public enum Aftermath: Hashable, Sendable {
    /// They ended when the body's task was cancelled.
    case endedByCancelling
    /// They ignore cancellation and are abandoned: their memory is never given back.
    case abandoned
  }

  /// The number of strands (tasks, mostly) that took part, those that have ended included.
  public var strands: Int

  /// The virtual time at which nothing could go on.
  public var instant: VirtualClock.Instant

  /// What is known about who waits for what: the queues that `ExplorationEnvironment.makeQueue` made and that are not
  /// empty, the procedures given to `ExplorationEnvironment.watch` that have not finished, and what was said by `ExplorationEnvironment.explainDeadlock`.
  public var waits: [String]

  /// What became of the tasks that were stuck.
  public var aftermath: Aftermath

  /// The state in words, with what is known about who waits.
  public var description: String {
    var text = "deadlock at \(instant): no job is ready, nobody sleeps, and the body has not finished"
    text += " (\(strands.counting("strand")) took part)"
    switch aftermath {
    case .endedByCancelling: text += "; cancelling the body ended it"
    case .abandoned: text += "; cancelling the body did not end it, its tasks were abandoned"
    }
    return ([text] + waits.map { "    waits: \($0.replacing("\n", with: "\n    "))" }).joined(separator: "\n")
  }
}
