import Synchronization
import TestSupport
import TestingProcedureKit

/// The error that leaves and steps throw, and the reason for some cancellations.
struct RandomError: Error {}

/// One execution of a random program.
final class RandomProgramRun: Sendable {
  /// A procedure that was added to a queue.
  struct Added {
    let procedure: RandomProgram.Procedure
    /// `nil` if the handle was released.
    let handle: ProcedureHandle<Int>?
    /// The outcomes that `onDidFinish` received; `nil` if the procedure has no such hook.
    var ends: Record<ProcedureOutcome<Int>>?
  }

  struct State {
    /// What the executing leaves use: the slots of both queues, the categories 0 and 1, and the units. An exclusive claim counts as
    /// `exclusive` shared ones.
    var used = [0, 0, 0, 0, 0]
    var limits: [Int]
    var added: [Added] = []
    var complaints: [String] = []
    var stage = "callers"
  }

  /// The amount of an exclusive claim.
  static let exclusive = 100

  let program: RandomProgram
  let queues: [ProcedureQueue]
  let state: Mutex<State>
  let table = ResourceTable()
  let units = Resource("units", capacity: 2)
  let instances = InstanceCount()

  init(_ program: RandomProgram) {
    self.program = program
    // After the width has been reduced, more bodies than the new width can execute.
    let widths = program.kinds.contains("changeWidth") ? [3, 3] : program.widths
    state = Mutex(State(limits: widths + [Self.exclusive, Self.exclusive, units.capacity]))
    queues = zip(["a", "b"], program.widths).map { [table] name, width in
      var configuration = ProcedureQueue.Configuration(name, maxConcurrentProcedures: width)
      configuration.resources = table
      configuration.onUnobservedFailure = { _ in }
      configuration.log = ProcedureLog(level: .critical)
      return ProcedureQueue(configuration)
    }
  }

  func complain(_ text: String) { state.withLock { $0.complaints.append(text) } }

  private func enter(_ stage: String) { state.withLock { $0.stage = stage } }

  /// The program, and what has not ended.
  var report: String {
    let snapshots = queues.map { "\($0.snapshot())" }.joined(separator: "\n")
    return "\(program)\nstage: \(state.withLock { $0.stage })\n\(snapshots)"
  }

  /// Executes the program, and returns what is wrong. If something does not end or is not released, this function does not return.
  func execute() async -> [String] {
    // A subscriber changes the path of many runs, so only some programs have one. A shutdown does not wait for a condition that outlives
    // its run (K1), so the events would end before those of the procedures that the condition runs.
    let isRead = program.seed % 3 == 0 && !program.kinds.contains("shutDown")
    let events = isRead ? queues.map { $0.events(bufferingNewest: .max) } : []
    await withTaskGroup { group in
      for caller in program.callers {
        group.addTask { for step in caller { try? await self.perform(step, Scope(queue: 0)) } }
      }
    }
    enter("ends")
    var ended = 0
    while case let added = state.withLock({ $0.added[ended...] }), !added.isEmpty {
      for added in added { _ = await added.handle?.outcome }
      for queue in queues + queues { await queue.waitUntilIdle() }
      ended += added.count
    }
    for added in state.withLock({ $0.added }) { await check(added) }
    enter("release")
    state.withLock { $0.added = [] }
    // A condition that ignores its cancellation can outlive its run (K1).
    await instances.waitUntilNone()
    enter("empty queues")
    await waitUntil { table.count == 0 && queues.allSatisfy { $0.snapshot().procedures.isEmpty } }
    enter("full width")
    for number in 0..<2 where !queues[number].snapshot().isShutDown { await fill(number) }
    for queue in queues { await queue.shutDown() }
    for events in events {
      var count = EventCount()
      for await event in events { count.add(event) }
      for complaint in count.complaints { complain(complaint) }
    }
    return state.withLock { $0.complaints }
  }

  /// Waits for a change that is not signalled. If it never occurs, the program counts as hanging.
  private func waitUntil(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }

  // MARK: Limits

  /// Calls `operation` while a leaf uses the given slots and resources.
  func using(_ amounts: [Int], _ operation: () async -> Void) async {
    state.withLock { state in
      for index in amounts.indices { state.used[index] += amounts[index] }
      guard zip(state.used, state.limits).contains(where: { $0 > $1 }) else { return }
      state.complaints.append("the leaves use \(state.used) of \(state.limits)")
    }
    await operation()
    state.withLock { state in for index in amounts.indices { state.used[index] -= amounts[index] } }
  }

  /// Executes as many procedures as fit at the same time, which finds slots that were lost or gained.
  private func fill(_ number: Int) async {
    let (queue, started) = (queues[number], Record<Void>())
    let width = queue.maxConcurrentProcedures
    state.withLock { $0.limits[number] = width }
    let procedure = ProcedureTask("at full width") {
      await self.using(number == 0 ? [1] : [0, 1]) {
        started.append(())
        await self.waitUntil { started.values.count >= width }
      }
    }
    await withTaskGroup { group in
      for _ in 0..<width {
        queue.add(procedure)
        group.addTask { try? await queue.run(procedure) }
      }
    }
    await queue.waitUntilIdle()
    if started.values.count != 2 * width { complain("a procedure did not execute at full width") }
  }

  // MARK: Outcomes

  /// Checks that an added procedure ended once, with an outcome for which the program has a cause.
  private func check(_ added: Added) async {
    let ends = added.ends?.values
    guard let outcome = await added.handle?.outcome ?? ends?.first else { return }
    let wasRefused = [.queueShutDown, .producerFinished].contains(outcome.procedureError?.kind)
    let endedOnce = ends.map { $0.map(\.description) == [outcome.description] || $0.isEmpty && wasRefused } ?? true
    let isPermitted =
      switch outcome {
      case .finished(let value): value == added.procedure.number && !added.procedure.alwaysFails
      case .failed(let error): hasCause(error)
      case .cancelled(let reason): hasCause(reason ?? CancellationError())
      case .ignored: program.kinds.contains("falseCondition")
      }
    if endedOnce, isPermitted { return }
    complain("procedure \(added.procedure.number) ended with \(outcome); onDidFinish received \(ends ?? [])")
  }

  /// Returns whether anything in the program can cause an error.
  private func hasCause(_ error: any Error) -> Bool {
    let failures = ["failingLeaf", "fail", "cancel", "cancelAll", "cancelOwnRun"]
    let deadlocks = ["exclusive", "shared", "uses", "awaitHandle", "addAfter", "produce", "waitUntilIdle"]
    let causes: [String] =
      switch (error as? ProcedureError)?.kind {
      case .conditionFailed?: ["condition"]
      case .ignored?: ["falseCondition"]
      case .dependencyFailed?: ["addAfter"]
      case .timedOut?: ["timeout"]
      case .queueShutDown?: ["shutDown"]
      case .producerFinished?, .stopped?: ["produce"]
      case .exclusionDeadlock?: deadlocks
      case .capacityExceeded?: ["uses"]
      case nil where error is RandomError: failures
      // A failure also cancels what its parent has started.
      case nil where error is CancellationError:
        failures + deadlocks + ["timeout", "shutDown", "falseCondition", "runAndCancel"]
      default: []
      }
    return !program.kinds.isDisjoint(with: causes)
  }
}
