/// A test of whether waits for real time arrive at an exploration.
enum RealSleepTest {
  /// Whether an exploration controls waits for real time in this process.
  static let isSuccessful: Bool = {
    let crew = Crew()
    defer { crew.dismiss() }
    let executor = ScheduleExecutor(chooser: FirstChooser(), crew: crew, preemptionLimit: 0)
    let environment = ExplorationEnvironment(executor: executor, schedule: 0, seed: 0)
    executor.environment = environment
    executor.asDriver { KitSpawner.startSleeper(on: executor) }
    _ = executor.runUntilIdle(limit: .max)
    _ = executor.asDriver { executor.endSleeps(through: nil) }
    _ = executor.runUntilIdle(limit: .max)
    return executor.realSleeps > 0
  }()
}
