/// A standstill of a schedule: no job is ready, no task sleeps, and the body has not finished.
///
/// Work outside of the exploration's control that takes longer than `ScheduleExplorer.patience` is also reported as a
/// deadlock.
public struct Deadlock: Hashable, Sendable, CustomStringConvertible {
  /// The fate of the blocked tasks.
  public enum Aftermath: Hashable, Sendable {
    /// The tasks ended when the body's task was cancelled.
    case endedByCancelling
    /// The tasks ignore cancellation and were abandoned. Their memory leaks.
    case abandoned
  }

  /// The number of strands (mostly tasks) that took part, including strands that have ended.
  public var strands: Int

  /// The virtual time of the standstill.
  public var instant: VirtualClock.Instant

  /// The known waits, one text each.
  ///
  /// The texts are the snapshots of the busy queues of `ExplorationEnvironment.makeQueue`, the unfinished procedures of
  /// `ExplorationEnvironment.watch`, and the texts of `ExplorationEnvironment.explainDeadlock`.
  public var waits: [String]

  /// The strands that have not ended: who is stuck. Empty if the schedule did not run again for a report.
  public var stuck: [StuckStrand] = []

  /// The fate of the blocked tasks.
  public var aftermath: Aftermath

  /// The strands that wait for each other's explored locks; `nil` for every other deadlock.
  public var locks: LockCycle?

  /// The standstill in words, with the known waits.
  public var description: String {
    if let locks {
      let members = locks.members.map { "\n    \($0)" }.joined()
      return locks.members.count == 1
        ? "deadlock at \(instant): a strand takes a lock that the strand holds:\(members)"
        : "deadlock at \(instant): strands wait for each other's locks:\(members)"
    }
    var text = "deadlock at \(instant): no job is ready, no task sleeps, and the body has not finished"
    text += "; a wait for real time or work elsewhere that is longer than `patience` looks the same"
    text += " (\(strands.counting("strand")) took part)"
    switch aftermath {
    case .endedByCancelling: text += "; cancelling the body ended it"
    case .abandoned: text += "; cancelling the body did not end it, its tasks were abandoned"
    }
    return
      ([text] + stuck.map { "    stuck: \($0)" } + waits.map { "    waits: \($0.replacing("\n", with: "\n    "))" })
      .joined(separator: "\n")
  }
}
