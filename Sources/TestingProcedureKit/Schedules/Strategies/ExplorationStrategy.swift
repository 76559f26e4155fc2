/// The choice of the next job among the ready jobs of an exploration.
public enum ExplorationStrategy: Hashable, Sendable {
  /// Chooses uniformly at random. The strategy finds bugs that many orders show.
  case random

  /// Chooses by random priorities that change at `changePoints` random steps (PCT: Burckhardt et al., ASPLOS 2010).
  ///
  /// The strategy finds rare bugs that depend on few ordering constraints: use `d - 1` change points for `d`
  /// constraints.
  case priorities(changePoints: Int = 2)

  /// Alternates between `random` and `priorities(changePoints:)`: the default.
  case mixed(changePoints: Int = 3)

  /// Runs every possible order once, up to the number of schedules; see `ExplorationSummary.isComplete`.
  ///
  /// The strategy proves small bodies correct: two tasks with five choices each have some hundred orders. All orders
  /// without an overtaken waker run first, then all orders with one, and so on; see
  /// `ExplorationSummary.completeOvertakings`. All schedules draw equal random numbers.
  ///
  /// Orders count as equal only if they differ in the steps with which a task collects the remaining tasks of its group,
  /// at the end of `withTaskGroup` or in `waitForAll`. Code under test may share memory that an explorer does not see, so
  /// that two other steps never count as independent.
  case exhaustive

  /// Takes turns between the tasks, one job each: a single order, useful for comparison.
  case roundRobin

  /// Runs one schedule, from the replay string of a failure.
  case replay(String)
}
