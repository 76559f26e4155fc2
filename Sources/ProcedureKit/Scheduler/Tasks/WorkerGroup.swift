import Synchronization

/// A command to the owner of a task group. Only the owner can add tasks to the group.
enum WorkerCommand: Sendable {
  /// Add one worker.
  case add(@Sendable () async -> Void)
  /// Cancel all workers, including later ones.
  case cancelAll
}

/// A task group whose child tasks are workers, controlled by commands that are sent to its owner. The owner executes the commands in
/// `Spawner.runGroup`.
final class WorkerGroup: Sendable {
  private struct Contents {
    var commands: [WorkerCommand] = []
    var isClosed = false
    var owner: Waiter?
  }

  private let contents = Mutex(Contents())

  /// Sends a command. A closed group ignores `cancelAll`, because its workers are about to end. Adding a worker to a closed group traps.
  func send(_ command: WorkerCommand) {
    let owner = contents.withLock { contents -> Waiter? in
      if contents.isClosed {
        guard case .cancelAll = command else {
          preconditionFailure("WorkerGroup: a worker was added to a closed group")
        }
        return nil
      }
      contents.commands.append(command)
      return contents.owner.take()
    }
    owner?.resume()
  }

  /// Closes the group. The owner still executes the commands that have already been sent.
  func close() {
    let owner = contents.withLock { contents in
      contents.isClosed = true
      return contents.owner.take()
    }
    owner?.resume()
  }

  /// Waits until there are commands and returns all of them. Returns `nil` once the group is closed and no commands are left.
  ///
  /// Cancelling the caller does not end the wait, so the group must eventually be closed.
  func nextCommands() async -> [WorkerCommand]? {
    while true {
      let (commands, isClosed) = contents.withLock { ($0.commands.takeAll(), $0.isClosed) }
      if !commands.isEmpty { return commands }
      if isClosed { return nil }
      await Waiter.suspend { waiter in
        contents.withLock { contents in
          guard contents.commands.isEmpty, !contents.isClosed else { return false }
          contents.owner = waiter
          return true
        }
      }
    }
  }
}

/// The task groups of a queue, each with at most a few hundred children.
///
/// When a child ends, the runtime searches the group for the child, so a single group with many thousands of children would take quadratic
/// time.
struct WorkerGroups: Sendable {
  private static let maximumTaskCount = 256

  private struct Group {
    let workers: WorkerGroup
    var taskCount = 0
  }

  private var groups: [Group] = []

  var all: [WorkerGroup] { groups.map(\.workers) }

  /// Adds a task to a group. Returns the group, and whether the group is new. If it is new, the caller must start its owner.
  mutating func joined() -> (group: WorkerGroup, isNew: Bool) {
    if let index = groups.lastIndex(where: { $0.taskCount < Self.maximumTaskCount }) {
      groups[index].taskCount += 1
      return (groups[index].workers, false)
    }
    groups.append(Group(workers: WorkerGroup(), taskCount: 1))
    return (groups[groups.count - 1].workers, true)
  }

  /// Records that a task of a group has ended.
  ///
  /// Returns the group if it is empty, in which case the caller closes it. The last group of the queue stays open and is not returned.
  mutating func left(_ group: WorkerGroup) -> WorkerGroup? {
    guard let index = groups.firstIndex(where: { $0.workers === group }) else { return nil }
    groups[index].taskCount -= 1
    guard groups[index].taskCount == 0, groups.count > 1 else { return nil }
    return groups.remove(at: index).workers
  }
}

extension QueueCore {
  /// Makes the current task a worker, which executes runs, one at a time, until no run is waiting for a worker.
  ///
  /// After each run, the worker takes the next one, unless the run was cancelled: a late cancellation must not reach another run (C6).
  @concurrent func work() async {
    let worker = CancellableTask()
    await worker.executeHere {
      var yieldPolicy = YieldPolicy(time)
      var (number, job) = firstJob(for: worker)
      while case (let run, var startedBody)? = job.take()?.taken() {
        if let body = startedBody.take() {
          job = await run.executeInline(body, by: number)
        } else {
          await run.drive(from: .start)
          job = nextJob(for: number, after: run)
        }
        if yieldPolicy.shouldYield() { await Task.yield() }
      }
    }
  }
}
