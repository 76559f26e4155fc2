public import ProcedureKit
internal import Synchronization

extension Procedure {
  /// Returns a procedure that takes a single input, collects the inputs of many runs, and executes this procedure once for all of them.
  ///
  /// ```swift
  /// let user = FetchUsers().batched(maxSize: 100, within: .milliseconds(5))  // one request for up to 100 users
  /// async let first = queue.run(user, input: 1)
  /// async let second = queue.run(user, input: 2)
  /// ```
  ///
  /// The first run opens a batch, and later runs join it. Once the batch is full or `delay` has passed, the first run waits until it has a
  /// slot and its resources again. Until then, other runs can still join, unless the batch is full. The batch then executes as part of the
  /// first run, with that run's task-local values. Each run finishes with the result at the position of its input. The result is either a
  /// value or an error that concerns only this input. If the batch itself fails, each of its runs fails with the batch's error.
  ///
  /// A waiting run holds neither a slot nor resources, just as during a pause. Cancelling a run ends its wait and withdraws its input,
  /// unless the batch has started. If the first run is cancelled, the next one takes its place. Once the batch has started, it continues
  /// even if the run that executes it is cancelled or times out. That run then finishes only after the batch. A batch is cancelled only
  /// when all of its runs have been cancelled.
  ///
  /// All copies of the returned procedure share their batches, so apply the modifier only once. If each request applies it again, every
  /// batch contains a single input. Each queue has its own batches, and runs without a queue are batched among themselves.
  ///
  /// - Parameters:
  ///   - maxSize: The maximum number of inputs in a batch. Passing a number below 1 traps.
  ///   - delay: The maximum time that the first run of a batch waits for other runs.
  /// - Returns: The procedure, which fails with ``BatchMismatch`` if the number of results differs from the number of inputs.
  public func batched<Element: Sendable, Value: Sendable>(
    maxSize: Int, within delay: Duration
  ) -> ProcedureTask<Element, Value> where Input == [Element], Output == [Result<Value, any Error>] {
    require(maxSize >= 1, "\"\(name)\": the maximum batch size must be at least 1, got \(maxSize)")
    let task = procedureTask
    let batches = Batches<Element, Value>(of: task, maxSize: maxSize)
    return task.wrapped { (element: Element) in
      try await batches.result(for: element, within: delay, of: ProcedureContext.requireCurrent(for: task.name).run)
    }
  }

  /// Returns a procedure that takes a single input, collects the inputs of many runs, and executes this procedure once for all of them.
  ///
  /// This variant of `batched` is for a procedure that returns one value for each input, in the same order. An individual input cannot
  /// fail.
  @_disfavoredOverload
  public func batched<Element: Sendable, Value: Sendable>(
    maxSize: Int, within delay: Duration
  ) -> ProcedureTask<Element, Value> where Input == [Element], Output == [Value] {
    map { $0.map { Result<Value, any Error>.success($0) } }.batched(maxSize: maxSize, within: delay)
  }
}

/// An error that is thrown if a batch returns more or fewer results than it has inputs.
public struct BatchMismatch: Error, Hashable, CustomStringConvertible {
  /// The name of the procedure.
  public let procedure: String
  /// The number of inputs.
  public let inputCount: Int
  /// The number of results.
  public let resultCount: Int

  /// The name of the procedure, the two numbers, and advice.
  public var description: String {
    """
    \(procedure.quoted) returned \(resultCount.counting("result")) for \(inputCount.counting("input")). Return one result for each input, \
    in the same order
    """
  }
}

/// The batches of a procedure. For each queue, at most one batch is open. Runs can join an open batch.
///
/// The lock of `Batches` is acquired before the lock of a `Batch`.
private final class Batches<Element: Sendable, Value: Sendable>: Sendable {
  typealias Results = Result<[Result<Value, any Error>], any Error>

  private let task: ProcedureTask<[Element], [Result<Value, any Error>]>
  private let maxSize: Int
  /// The open batches, keyed by queue. The runs in a batch keep the queue alive.
  private let open = Mutex<[ObjectIdentifier: Batch<Element, Value>]>([:])

  init(of task: ProcedureTask<[Element], [Result<Value, any Error>]>, maxSize: Int) {
    (self.task, self.maxSize) = (task, maxSize)
  }

  /// Joins a batch, executes it if the run leads it, and returns the result for the element.
  func result(for element: Element, within delay: Duration, of run: Run) async throws -> Value {
    let queue = ObjectIdentifier(run.core)
    let (batch, member) = join(element, run, queue, until: run.instant.advanced(by: delay))
    do {
      // The leader executes the batch after the wait, with its own slot and resources, which it has reacquired.
      if maxSize > 1 {
        try await run.withSlotAndResourcesReleased {
          await batch.waitForTurn(of: member, run)
          // Leaving withdraws the input unless the batch has started, and makes another member the leader if necessary.
          if run.isCancelled { leave(batch, member, queue) }
          if let refusal = batch.refusal(of: member) { throw refusal }
        }
      }
      if let inputs = start(batch, member, queue) { await execute(batch, inputs, member, run) }
      return try batch.result(of: member, named: task.name)
    } catch {
      leave(batch, member, queue)
      throw error
    }
  }

  /// Adds an input to the open batch of a queue, or to a new batch if none is open. If the batch is then full, it is closed.
  private func join(
    _ element: Element, _ run: Run, _ queue: ObjectIdentifier, until end: ProcedureInstant
  ) -> (batch: Batch<Element, Value>, member: Int) {
    let (batch, member, leader) = open.withLock { open in
      let batch = open[queue] ?? Batch(until: end)
      let (member, isFull, leader) = batch.join(element, run, maxSize)
      open[queue] = isFull ? nil : batch
      return (batch, member, leader)
    }
    leader?.signal()
    return (batch, member)
  }

  /// Closes a batch and returns its inputs. Returns `nil` if the member does not lead the batch, or if the batch has already started.
  private func start(_ batch: Batch<Element, Value>, _ member: Int, _ queue: ObjectIdentifier) -> [Element]? {
    open.withLock { open in
      guard let inputs = batch.start(ledBy: member) else { return nil }
      if open[queue] === batch { open[queue] = nil }
      return inputs
    }
  }

  /// Withdraws the input of a member that failed or was cancelled, and closes the batch if it has no members left.
  private func leave(_ batch: Batch<Element, Value>, _ member: Int, _ queue: ObjectIdentifier) {
    let (signals, execution) = open.withLock { open in
      let (signals, execution, isEmpty) = batch.leave(member)
      if isEmpty, open[queue] === batch { open[queue] = nil }
      return (signals, execution)
    }
    for signal in signals { signal.signal() }
    execution?.cancel(nil)
  }

  /// Executes a batch within the body of its leader. Cancelling the leader does not cancel the batch.
  private func execute(_ batch: Batch<Element, Value>, _ inputs: [Element], _ leader: Int, _ run: Run) async {
    let task = task
    let execution = task.wrapped { (inputs: [Element]) in
      let run = ProcedureContext.requireCurrent(for: task.name).run
      if batch.executes(as: run) { run.cancel(nil) }
      return try await task.executeAsLayer(inputs)
    }
    let queue = ObjectIdentifier(run.core)
    let results: Results
    do {
      results = .success(
        try await run.executeShielded(execution, inputs) { self.leave(batch, leader, queue) })
    } catch {
      results = .failure(error)
    }
    for signal in batch.finish(results) { signal.signal() }
  }
}

/// A batch. Its leader, the first member that has not left, executes the batch.
private final class Batch<Element: Sendable, Value: Sendable>: Sendable {
  private struct Member: Sendable {
    let input: Element
    let run: Run
  }

  private struct State: Sendable {
    /// The members, numbered in the order in which they joined. The dictionary does not change after the batch starts.
    var members: [Int: Member] = [:]
    var joinedCount = 0
    /// The number of the leader, which is meaningful only if the batch has members.
    var leader = 1
    var isFull = false
    var hasStarted = false
    /// The numbers of the members that have not left.
    var active: Set<Int> = []
    /// The signals of the waiting members.
    var signals: [Int: OneShotSignal] = [:]
    /// The errors of the members whose waits were refused because of a deadlock.
    var refusals: [Int: any Error] = [:]
    /// The run that executes the batch.
    var execution: Run?
    var results: Result<[Result<Value, any Error>], any Error>?
    /// The position of each member's input, once the batch has started.
    var positions: [Int: Int] = [:]
  }

  private enum Turn: Sendable {
    case waits(ProcedureInstant)
    case follows(Run)
    case ended
  }

  /// The instant from which the batch can start even if it is not full.
  private let end: ProcedureInstant
  private let state = Mutex(State())

  init(until end: ProcedureInstant) {
    self.end = end
  }

  /// Adds an input. Returns the number of the new member, and whether the batch is full. If the batch is full and its leader is waiting,
  /// also returns the signal that wakes the leader.
  func join(_ input: Element, _ run: Run, _ maxSize: Int) -> (member: Int, isFull: Bool, leader: OneShotSignal?) {
    state.withLock { state in
      state.joinedCount += 1
      state.members[state.joinedCount] = Member(input: input, run: run)
      state.active.insert(state.joinedCount)
      state.isFull = state.members.count >= maxSize
      return (state.joinedCount, state.isFull, state.isFull ? state.signals[state.leader] : nil)
    }
  }

  /// Waits until the member can start the batch, the batch has ended, or the run is cancelled. The run's slot has already been released.
  func waitForTurn(of member: Int, _ run: Run) async {
    while !run.isCancelled {
      let signal = OneShotSignal()
      switch turn(of: member, signal) {
      case .ended: return
      case .waits(let end):
        let rest = run.instant.duration(to: end)
        if rest <= .zero { return }
        await run.pause(until: signal, atMost: rest)
      case .follows(let leader):
        do {
          try await run.wait(for: leader, at: signal)
        } catch {
          state.withLock { $0.refusals[member] = error }
          return
        }
      }
    }
  }

  /// Returns what a member has to wait for, and stores the signal that can end the wait.
  private func turn(of member: Int, _ signal: OneShotSignal) -> Turn {
    state.withLock { state in
      if state.results != nil { return .ended }
      state.signals[member] = signal
      guard let leader = state.members[state.leader] else { return .ended }
      if state.leader != member { return .follows(leader.run) }
      return state.isFull ? .ended : .waits(end)
    }
  }

  func refusal(of member: Int) -> (any Error)? { state.withLock { $0.refusals[member] } }

  /// Starts the batch and returns its inputs. Returns `nil` if the member does not lead the batch, or if the batch has already started.
  func start(ledBy member: Int) -> [Element]? {
    state.withLock { state in
      guard !state.hasStarted, state.leader == member, state.members[member] != nil else { return nil }
      state.hasStarted = true
      let members = state.members.sorted { $0.key < $1.key }
      for (position, member) in members.enumerated() { state.positions[member.key] = position }
      return members.map(\.value.input)
    }
  }

  /// Records the run that executes the batch. Returns `true` if all members have left, in which case the caller must cancel the run.
  func executes(as run: Run) -> Bool {
    state.withLock { state in
      state.execution = run
      return state.active.isEmpty
    }
  }

  /// Records that a member has left.
  ///
  /// - Returns: The signals of the other members, if the leader left before the batch started; the run that executes the batch, if no
  ///   members remain; and whether no members remain.
  /// - Complexity: Amortized O(1), plus O(n log n) for the signals of n members.
  func leave(_ member: Int) -> (signals: [OneShotSignal], execution: Run?, isEmpty: Bool) {
    // The member is released while the lock is not held, because releasing it can call the user's code.
    let (result, _) = state.withLock { state -> (([OneShotSignal], Run?, Bool), Member?) in
      // The member may already have left.
      guard state.active.remove(member) != nil else { return (([], nil, state.active.isEmpty), nil) }
      state.signals[member] = nil
      var (left, signals): (Member?, [OneShotSignal]) = (nil, [])
      if !state.hasStarted {
        left = state.members.removeValue(forKey: member)
        if state.leader == member {
          // The members that are still waiting store new signals, so the signals of cancelled members are not sent repeatedly.
          signals = state.signals.sorted { $0.key < $1.key }.map(\.value)
          state.signals = [:]
          while state.leader <= state.joinedCount, state.members[state.leader] == nil { state.leader += 1 }
        }
      }
      return ((signals, state.active.isEmpty ? state.execution : nil, state.active.isEmpty), left)
    }
    return result
  }

  /// Records the results, and returns the signals of the members that are waiting for them.
  func finish(_ results: Result<[Result<Value, any Error>], any Error>) -> [OneShotSignal] {
    // The members and the run are released while the lock is not held, because releasing them can call the user's code.
    let (signals, _, _) = state.withLock { state -> ([OneShotSignal], [Int: Member], Run?) in
      state.results = results
      let members = state.members
      state.members = [:]
      return (state.signals.sorted { $0.key < $1.key }.map(\.value), members, state.execution.take())
    }
    return signals
  }

  /// Returns the result of a member.
  func result(of member: Int, named procedure: String) throws -> Value {
    let (results, positions) = state.withLock { ($0.results, $0.positions) }
    // The run's wait ended before the batch did, because the run was cancelled.
    guard let results = try results?.get() else { throw CancellationError() }
    guard results.count == positions.count, let position = positions[member] else {
      throw BatchMismatch(procedure: procedure, inputCount: positions.count, resultCount: results.count)
    }
    return try results[position].get()
  }
}
