import ProcedureKit

/// The statistics of an exploration without failures.
public struct ExplorationSummary: Hashable, Sendable, CustomStringConvertible {
  /// The seed of the exploration.
  public var seed: UInt64

  /// The strategy of the exploration.
  public var strategy: ExplorationStrategy

  /// The number of schedules, not counting repetitions.
  public var schedules = 0

  /// The number of distinct orders of tasks. Two orders are considered the same if their 64-bit fingerprints are equal.
  public var distinctTraces = 0

  /// The number of choices in all schedules that had more than one alternative.
  public var decisions = 0

  /// Whether the explorer chose between different tasks in at least one schedule.
  ///
  /// If the value is `false`, the exploration proves nothing about the order of tasks. In most such cases, the body has only one task. To
  /// test the order, use the objects under test from at least two tasks.
  public var hasChoices = false

  /// The number of steps in all schedules. If a job is preempted, the rest of the job is a separate step.
  public var steps = 0

  /// The largest number of steps in one schedule.
  public var longestSchedule = 0

  /// The number of schedules in which each outcome was passed to `ExplorationEnvironment.tally`.
  public var tallies: [String: Int] = [:]

  /// The number of wakes, and of operations on explored locks and atomics, at which the explorer made no choice because the running task
  /// held a lock. The lock may belong to the code under test, or to the runtime, which holds a lock while it cancels a task.
  public var wakesUnderLock = 0

  /// The number of times that the runtime, rather than the explorer, determined which callers an actor served in a step.
  ///
  /// If `ScheduleExplorer.ordersCallersOfActors` is `true`, the number is zero unless threads outside the exploration call the same actor.
  /// If the number is not zero, `isComplete` is `false` and `completePreemptions` is `nil`, because not all orders in which the actors
  /// serve their callers have been run.
  public var unorderedVisits = 0

  /// The number of schedules in which the explorer could not determine the duration of a wait in real time.
  ///
  /// The runtime reports only the instant at which a `Task.sleep` ends. If the system suspends the thread just before the wait, the
  /// explorer runs the schedule again, up to nine times. If the number is not zero, `isComplete` is `false` and `completePreemptions` is
  /// `nil`, because some waits may have ended in the wrong order.
  public var unclearSleeps = 0

  /// Whether every possible order has been run. Only `ExplorationStrategy.exhaustive` can set the property to `true`.
  ///
  /// In this context, an order consists of the choices that the explorer makes: which job runs next after each suspension, and which tasks
  /// are preempted at wakes and at operations on explored locks and atomics. In each schedule, the explorer chooses at most
  /// `preemptionLimit` preemptions. The explorer makes no choice at a wake under a lock. Synchronous code that contains neither a wake nor
  /// such an operation is indivisible.
  public var isComplete = false

  /// The largest number n for which all orders with at most n preemptions have been run. The value is `nil` if some orders without a
  /// preemption have not been run.
  ///
  /// Only `ExplorationStrategy.exhaustive` sets the property. It does so even if the exploration ends before all orders have been run.
  public var completePreemptions: Int?

  /// The number of new orders in each thousand schedules. The last thousand may be incomplete.
  ///
  /// If the last number is close to zero, more schedules with the same strategy are unlikely to find anything new.
  public var newOrders: [Int] = []

  /// The maximum number of preemptions in one schedule; see `ScheduleExplorer.preemptionLimit`.
  public var preemptionLimit = Int.max

  /// Updates the statistics with a successful schedule.
  mutating func didRun(_ outcome: ScheduleRun.Outcome, isNewOrder: Bool) {
    if schedules % 1_000 == 0 { newOrders.append(0) }
    if isNewOrder {
      newOrders[schedules / 1_000] += 1
      distinctTraces += 1
    }
    schedules += 1
    tallies.merge(outcome.tallies, uniquingKeysWith: +)
    decisions += outcome.record.widths.count { $0 > 1 }
    hasChoices = hasChoices || outcome.record.hasChoices
    steps += outcome.record.steps
    longestSchedule = max(longestSchedule, outcome.record.steps)
    wakesUnderLock += outcome.record.wakesUnderLock
    unorderedVisits += outcome.unorderedVisits
    if outcome.hasUnclearSleep { unclearSleeps += 1 }
  }

  /// Returns the elements of `outcomes` that have not been counted, in alphabetical order.
  func missing(of outcomes: Set<String>) -> [String] {
    outcomes.filter { tallies[$0] == nil }.sorted()
  }

  /// The statistics on one line.
  public var description: String {
    "\(isComplete ? "all " : "")\(schedules.counting("schedule")), \(distinctTraces.counting("distinct trace")), "
      + "\(decisions.counting("decision")) in \(steps.counting("step"))"
      + (schedules > 0 && !hasChoices
        ? " (the explorer had no choice between tasks, so the exploration proves nothing about their order)" : "")
      + (preemptionLimit < .max ? ", at most \(preemptionLimit.counting("preemption")) per schedule" : "")
      + (isComplete
        ? ""
        : completePreemptions.map { ", including every schedule with at most \($0.counting("preemption"))" } ?? "")
      + (newOrders.count > 1
        ? ", \((newOrders.last ?? 0).counting("new trace")) in the last \(((schedules - 1) % 1_000 + 1).counting("schedule"))"
        : "")
      + (ScheduleExplorer.seesWakesOfActors
        ? "" : ", tasks that wait within an actor cannot preempt their wakers on this runtime")
      + (ScheduleExplorer.controlsGlobalTasks ? "" : ", tasks without an executor are not controlled on this runtime")
      + (ScheduleExplorer.controlsRealTime ? "" : ", waits in real time are not controlled on this runtime")
      + (ScheduleExplorer.controlsMainActor ? "" : ", the main actor is not controlled on this runtime")
      + (unorderedVisits > 0
        ? ", \(unorderedVisits.counting("visit")) to actors in an order that the runtime determined" : "")
      + (unclearSleeps > 0 ? ", \(unclearSleeps.counting("schedule")) with a wait of uncertain duration" : "")
      + (wakesUnderLock > 0 ? ", \(wakesUnderLock.counting("wake")) under a lock" : "")
      + " (seed \(seed), \(strategy))"
      + tallies.sorted { $0.key < $1.key }.map { ", \($0.key): \($0.value)" }.joined()
  }
}
