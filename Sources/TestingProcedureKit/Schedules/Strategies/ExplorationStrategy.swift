/// How an exploration chooses which of the ready jobs runs next.
public enum ExplorationStrategy: Hashable, Sendable {
  /// Any ready job, each with the same probability. Good at bugs that many orders show.
  case random

  /// Random priorities that change at `changePoints` random steps (PCT: Burckhardt et al., ASPLOS 2010).
  ///
  /// Good at rare bugs that depend on few orderings: one that needs `d` of them is looked for with `d - 1` change
  /// points.
  case priorities(changePoints: Int = 2)

  /// `random` and `priorities(changePoints:)` in turn, a schedule each: for races of which every outcome is to be seen.
  case mixed(changePoints: Int = 3)

  /// Every order there is, depth first, until all or the wanted number have run; `ExplorationSummary.isComplete` tells.
  ///
  /// A proof for small bodies: two tasks with five choices each have some hundred orders. All schedules draw the same
  /// random numbers.
  case exhaustive

  /// The tasks in turn, one job each: a single order, of use as a comparison.
  case roundRobin

  /// One schedule, from the replay string that a failure has printed.
  case replay(String)
}
