/// A strand that takes part in a deadlock, and has not ended.
public struct StuckStrand: Hashable, Sendable, CustomStringConvertible {
  /// The number of the strand; see `ExplorationFailure.order`.
  public var strand: Int

  /// The strand as text: its number, and its `Task.name` if known.
  public var title: String

  /// The strand that started this strand, as text; `nil` for the body, and for a strand from outside.
  public var starter: String?

  /// The step at which the strand was started, from `1`; `0` for the body.
  public var firstStep: Int

  /// The last step of the strand, from `1`. The strand waits since that step; `0` stands for a strand that never ran.
  public var lastStep: Int

  /// What the strand did last: the strands that it started or woke, its notes, checks and sleeps; `nil` for nothing.
  public var lastEvent: String?

  /// The strand, its origin, its last step and its last event in one line.
  public var description: String {
    var text = "strand \(title)"
    if let starter { text += ", started by \(starter) at step \(firstStep)," }
    text += lastStep > 0 ? " waits since step \(lastStep)" : " has not run"
    return text + (lastEvent.map { "; before: \($0)" } ?? "")
  }
}
