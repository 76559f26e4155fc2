/// The record of one schedule, with the task at each step and all choices.
struct ScheduleRecord: Equatable {
  /// The task that ran at each step.
  private(set) var tasks: [Int] = []

  /// The number that identifies the actor at each step; `nil` for a step outside any actor.
  private(set) var actors: [Int?] = []

  /// The tasks that started other tasks, keyed by the started task.
  private(set) var starters: [Int: Int] = [:]

  /// The position of the chosen job at each wake, at each operation on an explored lock or atomic if another job was ready, and whenever a
  /// job ended or had to wait for a lock while several jobs were ready.
  ///
  /// At a wake or an operation, `0` means that the running job continues.
  private(set) var choices: [Int] = []

  /// The number of alternatives for each of the `choices`.
  private(set) var widths: [Int] = []

  /// For each of the `choices`, whether it was made at a wake or at an operation, so that `0` means that the running job continues.
  private(set) var isWake: [Bool] = []

  /// Whether at least one of the `choices` was between jobs of different tasks.
  private(set) var hasChoices = false

  /// The positions in `choices` of the choices that were forced by a lock and had no alternative.
  private(set) var forced: Set<Int> = []

  /// The number of choices that differ from the default, counted since the last step began.
  private(set) var switchesBeforeStep = 0

  /// The number of wakes since the last step began.
  private var wakesInStep = 0

  /// The number of wakes, and of operations on explored locks and atomics, at which no choice was made because they happened under a lock.
  private(set) var wakesUnderLock = 0

  /// The number of operations on explored locks and atomics.
  private(set) var operations = 0

  /// A fingerprint of `tasks` and of the wakes at which a waker was preempted. It is used to distinguish orders.
  private(set) var fingerprint = Fingerprint()

  var steps: Int { tasks.count }

  /// The number of steps and operations.
  var moments: Int { steps + operations }

  mutating func didWake(_ index: Int, of count: Int, isUnderLock: Bool) {
    add(index, of: count, isWake: true)
    if isUnderLock { wakesUnderLock += 1 }
    wakesInStep += 1
    if index > 0 { fingerprint.add(-wakesInStep) }
  }

  /// Records that the next choice is between jobs of different tasks.
  mutating func willChooseTask() {
    hasChoices = true
  }

  /// Records that a lock forces the next choice.
  mutating func willForceChoice() {
    forced.insert(choices.count)
  }

  mutating func didChoose(_ index: Int, of count: Int) {
    add(index, of: count, isWake: false)
  }

  mutating func didStart(_ task: Int, by starter: Int) {
    starters[task] = starter
  }

  mutating func didOperate() {
    operations += 1
  }

  private mutating func add(_ index: Int, of count: Int, isWake: Bool) {
    choices.append(index)
    if index > 0 { switchesBeforeStep += 1 }
    widths.append(count)
    self.isWake.append(isWake)
  }

  /// Records a step of `task`. `rank` is the number of jobs of the same task that became ready earlier and are still waiting.
  mutating func didRun(_ task: Int, at actor: Int? = nil, rank: Int = 0) {
    tasks.append(task)
    actors.append(actor)
    fingerprint.add(task)
    if rank > 0 { fingerprint.add(Int.min + rank) }
    (wakesInStep, switchesBeforeStep) = (0, 0)
  }
}

/// A job that can run on a thread of an exploration.
struct ReadyJob: Sendable {
  let job: UnownedJob

  /// The actor on which the job runs; `nil` if the job does not run on an actor, or if it is the runtime's own job that runs the callers of
  /// an actor.
  var isolation: Isolation?

  /// Whether the job's task is known to prefer the executor of the schedule.
  var prefersExecutor = true
}

/// An actor that a schedule controls. At most one of its jobs runs at a time.
enum Isolation: Hashable, Sendable {
  /// The main actor of the schedule.
  case mainActor
  case actor(DefaultActor)
}

/// A lock collision: a job waited for a lock that a parked waker held. The schedule has to be run again.
struct LockCollision: Sendable {
  /// The waker's stack depth; `nil` if the waker could not be determined.
  var depth: UInt?
}
