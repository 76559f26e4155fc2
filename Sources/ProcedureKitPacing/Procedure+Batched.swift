public import ProcedureKit
internal import Synchronization

extension Procedure {
  /// Returns a procedure with a single input, which executes this one once for the inputs of many runs.
  ///
  /// ```swift
  /// let user = FetchUsers().batched(maxSize: 100, within: .milliseconds(5))  // one request for up to 100 users
  /// async let first = queue.run(user, input: 1)
  /// async let second = queue.run(user, input: 2)
  /// ```
  ///
  /// The first run opens a batch, which later runs join. The batch executes when it is full, or when `delay` has passed since the first
  /// run. Each run then ends with the result at the position of its input: a value, or an error that concerns only this input. If the batch
  /// itself fails, each of its runs fails with the error.
  ///
  /// The batch executes as a separate run, with the name and the modifiers of this procedure, on the queue of the run that has started it,
  /// or on `ProcedureQueue.shared` if that run has no queue. While a run waits for its result, it holds neither a slot nor resources, as
  /// in a pause. Cancelling a run ends its wait and withdraws its input, unless the batch has started. A batch that has started is
  /// cancelled when all of its runs have been cancelled.
  ///
  /// All copies of the returned procedure share their batches, on all queues.
  ///
  /// - Parameters:
  ///   - maxSize: The maximum number of inputs of a batch. Passing a number below 1 traps.
  ///   - delay: The maximum time for which the first run of a batch waits for others.
  /// - Returns: The procedure, which fails with ``BatchMismatch`` if the number of results is not that of the inputs.
  public func batched<Element: Sendable, Value: Sendable>(
    maxSize: Int, within delay: Duration
  ) -> ProcedureTask<Element, Value> where Input == [Element], Output == [Result<Value, any Error>] {
    require(maxSize >= 1, "\"\(name)\": maxSize of a batch must be at least 1, got \(maxSize)")
    let task = procedureTask
    let batches = Batches<Element, Value>(of: task, maxSize: maxSize)
    return task.wrapped { (element: Element) in
      try await batches.result(for: element, within: delay, in: ProcedureContext.requireCurrent(for: task.name))
    }
  }

  /// Returns a procedure with a single input, which executes this one once for the inputs of many runs.
  ///
  /// This variant of `batched` is for a procedure that returns one value for each input, in the same order, so no input can fail
  /// separately.
  @_disfavoredOverload
  public func batched<Element: Sendable, Value: Sendable>(
    maxSize: Int, within delay: Duration
  ) -> ProcedureTask<Element, Value> where Input == [Element], Output == [Value] {
    map { $0.map { Result<Value, any Error>.success($0) } }.batched(maxSize: maxSize, within: delay)
  }
}

/// The error of a batch that has returned a different number of results than it had inputs.
public struct BatchMismatch: Error, Hashable, CustomStringConvertible {
  /// The name of the procedure.
  public let procedure: String
  /// The number of inputs.
  public let inputCount: Int
  /// The number of results.
  public let resultCount: Int

  /// A description of the error.
  public var description: String {
    "\"\(procedure)\" returned \(resultCount) results for \(inputCount) inputs. Return one result for each input, in the same order"
  }
}

/// The batches of a procedure. At most one of them is open, which means that runs can join it.
private final class Batches<Element: Sendable, Value: Sendable>: Sendable {
  typealias Handle = ProcedureHandle<[Result<Value, any Error>]>

  private struct State: Sendable {
    /// The batch that runs can join.
    var open: Batch?
    var lastMember = 0
  }

  /// A batch. The lock of `Batches` guards `contents`.
  final class Batch: Sendable {
    struct Contents: Sendable {
      /// The members in the order in which they joined, with their inputs. They do not change after the start.
      var members: [(number: Int, input: Element)] = []
      var hasStarted = false
      /// The numbers of the members that have not been cancelled.
      var active: Set<Int> = []
      var handle: Handle?
    }

    let contents = Mutex(Contents())
    /// The signal on which the first member waits. It is sent when another member has started the batch.
    let filled = OneShotSignal()
    let started = Promise<Handle>("batch")
  }

  private let task: ProcedureTask<[Element], [Result<Value, any Error>]>
  private let maxSize: Int
  private let state = Mutex(State())

  init(of task: ProcedureTask<[Element], [Result<Value, any Error>]>, maxSize: Int) {
    (self.task, self.maxSize) = (task, maxSize)
  }

  /// Joins a batch, starts it if necessary, and waits for the result.
  func result(for element: Element, within delay: Duration, in context: ProcedureContext) async throws -> Value {
    let (batch, member, isFirst, isFull) = join(element)
    do {
      let results = try await context.run.withResourcesReleased { () -> Result<[Result<Value, any Error>], any Error> in
        if isFirst, !isFull {
          await context.run.pause(until: batch.filled, atMost: delay)
          // If the first member was cancelled, the other members are executed without it, and need not wait any longer.
          if context.isCancelled { leave(batch, member) }
        }
        if isFirst || isFull { start(batch, in: context) }
        do {
          return .success(try await batch.started.execute().value)
        } catch {
          return .failure(error)
        }
      }
      return try result(of: member, in: batch, try results.get())
    } catch {
      leave(batch, member)
      throw error
    }
  }

  /// Adds an input to the open batch, or opens one. A batch that is full is closed.
  private func join(_ element: Element) -> (batch: Batch, member: Int, isFirst: Bool, isFull: Bool) {
    state.withLock { state in
      let batch = state.open ?? Batch()
      let isFirst = state.open == nil
      state.lastMember += 1
      let member = state.lastMember
      let count = batch.contents.withLock { contents in
        contents.members.append((member, element))
        contents.active.insert(member)
        return contents.members.count
      }
      state.open = count < maxSize ? batch : nil
      return (batch, member, isFirst, count >= maxSize)
    }
  }

  /// Starts a batch that has not started, on the queue of the current run.
  private func start(_ batch: Batch, in context: ProcedureContext) {
    let inputs = state.withLock { state -> [Element]? in
      if state.open === batch { state.open = nil }
      return batch.contents.withLock { contents in
        if contents.hasStarted { return nil }
        contents.hasStarted = true
        return contents.members.map(\.input)
      }
    }
    guard let inputs else { return }
    // All members have been cancelled.
    guard !inputs.isEmpty else {
      _ = batch.started.finish(throwing: CancellationError())
      return
    }
    let handle = (context.queue ?? ProcedureQueue.shared).add(task, input: inputs)
    let isAbandoned = batch.contents.withLock { contents in
      contents.handle = handle
      return contents.active.isEmpty
    }
    if isAbandoned { handle.cancel() }
    batch.started.finish(returning: handle)
    batch.filled.signal()
  }

  /// Withdraws the input of a member that has failed or was cancelled. Cancels the batch if no member is left.
  private func leave(_ batch: Batch, _ member: Int) {
    let handle = batch.contents.withLock { contents -> Handle? in
      // The member may have left before.
      guard contents.active.remove(member) != nil else { return nil }
      if !contents.hasStarted { contents.members.removeAll { $0.number == member } }
      return contents.active.isEmpty ? contents.handle : nil
    }
    handle?.cancel()
  }

  /// Returns the result of a member.
  private func result(of member: Int, in batch: Batch, _ results: [Result<Value, any Error>]) throws -> Value {
    let members = batch.contents.withLock { $0.members.map(\.number) }
    guard members.count == results.count, let index = members.firstIndex(of: member) else {
      throw BatchMismatch(procedure: task.name, inputCount: members.count, resultCount: results.count)
    }
    return try results[index].get()
  }
}
