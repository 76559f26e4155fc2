extension ProcedureQueue {
  /// Runs a procedure for each element of a sequence, with a limited number of elements in progress, while the caller iterates over the
  /// results.
  ///
  /// ```swift
  /// for try await page in queue.results(of: Download(), over: urls, maxConcurrentElements: 8) {
  ///   await index.insert(page)
  /// }
  /// ```
  ///
  /// No procedure runs before the caller requests the first value. After that, at most `maxConcurrentElements` procedures are waiting, are
  /// executing, or have values that the caller has not taken. The sequence is not read any further ahead. Each element is a separate run,
  /// which is added when the caller requests a value. An ignored element has no value and is omitted. To receive the failures of elements
  /// as values, use ``Procedure/catchingErrors()``. To omit them, use ``Procedure/replacingErrorsWithNil()`` and `compactMap`.
  ///
  /// The first element that fails or is cancelled ends the iteration: the other elements are cancelled, and the error is thrown when they
  /// have finished. If the values are ordered, the values of all elements before the failed element are returned first. Cancelling the
  /// iterating task has the same effect and throws `CancellationError`. Leaving the loop early cancels the remaining elements without
  /// waiting for them.
  ///
  /// A body that is iterating releases its slot while it waits. The elements are children of the body: they are cancelled with the body,
  /// can claim its resources, and need no room in the queue. The body's run does not finish before them, and their failures are thrown only
  /// by the loop. Outside of a body, elements wait for room if ``Configuration/maxWaitingProcedures`` limits the queue. If the queue is
  /// shut down, the iteration ends with ``ProcedureError/Kind/queueShutDown``.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run for each element.
  ///   - inputs: The elements. Each iteration over the result begins a new iteration over `inputs`, in the task of the caller.
  ///   - limit: The maximum number of elements in progress: elements that have been read, but whose values have not been returned. Passing
  ///     a value below 1 traps. Pass `nil` to use the queue's current ``maxConcurrentProcedures``. Passing `nil` traps if the queue has no
  ///     limit.
  ///   - isOrdered: `true` to return the values in the order of the elements; `false` to return each value as soon as it is available.
  ///   - elementName: A function that returns the name of an element's run in errors, events and snapshots; `nil` to use the name of the
  ///     procedure.
  /// - Returns: The values. Separate iterations are independent of each other.
  /// - Complexity: O(n) memory for up to n elements in progress.
  @inlinable
  public nonisolated final func results<P: Procedure, Inputs: Sequence & Sendable>(
    of procedure: P, over inputs: Inputs, maxConcurrentElements limit: Int? = nil, ordered isOrdered: Bool = true,
    elementName: (@Sendable (P.Input) -> String)? = nil
  ) -> some AsyncSequence<P.Output, any Error> & Sendable where Inputs.Element == P.Input {
    let task = procedure.procedureTask
    return ResultSequence(on: self, task.name, maxConcurrentElements: limit, ordered: isOrdered) { iteration in
      let task = task.labelled(for: iteration)
      var iterator = inputs.makeIterator()
      return .atOnce {
        guard let input = iterator.next() else { return nil }
        return task.element(input, named: elementName)
      }
    }
  }

  /// Runs a procedure for each element of an asynchronous sequence, with a limited number of elements in progress.
  ///
  /// The values are returned while the caller iterates; see ``results(of:over:maxConcurrentElements:ordered:elementName:)-4dpvx`` for a
  /// plain sequence.
  ///
  /// A separate task on the queue reads `inputs`, so each element starts as soon as it arrives, even while the caller is processing a
  /// value. The task has the task-local values that the queue's ``Configuration/contextCarriers`` carry. If `inputs` throws an error, the
  /// error is rethrown after the values of all earlier elements are returned. If the iteration ends early, the reading task is
  /// cancelled.
  @inlinable
  public nonisolated final func results<P: Procedure, Inputs: AsyncSequence & Sendable>(
    of procedure: P, over inputs: Inputs, maxConcurrentElements limit: Int? = nil, ordered isOrdered: Bool = true,
    elementName: (@Sendable (P.Input) -> String)? = nil
  ) -> some AsyncSequence<P.Output, any Error> & Sendable where Inputs.Element == P.Input {
    let task = procedure.procedureTask
    return ResultSequence(on: self, task.name, maxConcurrentElements: limit, ordered: isOrdered) { iteration in
      let task = task.labelled(for: iteration)
      return .read { isWanted, take in
        var iterator = inputs.makeAsyncIterator()
        while await isWanted(), let input = try await iterator.next() {
          try await take(task.element(input, named: elementName))
        }
      }
    }
  }
}

/// A sequence that runs a procedure for each input and returns the values.
@usableFromInline
struct ResultSequence<Output: Sendable>: AsyncSequence, Sendable {
  let queue: ProcedureQueue
  let name: String
  let limit: Int
  let isOrdered: Bool
  let makeInputs: @Sendable (ResultIteration) -> ResultInputs

  @usableFromInline
  init(
    on queue: ProcedureQueue, _ name: String, maxConcurrentElements limit: Int?, ordered isOrdered: Bool,
    _ makeInputs: @escaping @Sendable (ResultIteration) -> ResultInputs
  ) {
    (self.queue, self.name, self.isOrdered, self.makeInputs) = (queue, name, isOrdered, makeInputs)
    let most = limit ?? queue.core.width
    require(
      limit != nil || most < .max,
      "ProcedureQueue \"\(queue.name)\": results(of: \"\(name)\", over:) has no limit, and the queue's width is unlimited. "
        + "Pass maxConcurrentElements:, or set maxConcurrentProcedures")
    requirePositive(
      most, "ProcedureQueue \"\(queue.name)\": maxConcurrentElements of results(of: \"\(name)\", over:)")
    // This prevents sums that include the limit from overflowing.
    self.limit = Swift.min(most, .max / 2)
  }

  @inlinable
  func makeAsyncIterator() -> Iterator { Iterator(flow: ResultFlow(self)) }

  /// An iteration, used by a single task.
  @usableFromInline
  struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let flow: ResultFlow

    @usableFromInline init(flow: ResultFlow) { self.flow = flow }

    @inlinable
    mutating func next() async throws -> Output? { try await next(isolation: #isolation) }

    @inlinable
    mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Output? {
      guard let value = try await flow.next()?.value else { return nil }
      return cast(value)
    }
  }
}

/// The way a result sequence reads its inputs.
@usableFromInline
enum ResultInputs {
  /// The iterating task reads the inputs when it requests a value.
  case atOnce(() -> ResultElement?)
  /// A separate task reads the inputs. Before each input, it calls `isWanted`, which waits until the input is needed, and returns `false`
  /// if reading should stop.
  case read(Read)

  @usableFromInline
  typealias Read =
    @Sendable (
      _ isWanted: @Sendable () async -> Bool, _ take: @Sendable (ResultElement) async throws -> Void
    ) async throws -> Void
}

extension ProcedureQueue {
  /// Runs a procedure for each element of a sequence, in the caller's task and in the queue's workers, and returns the values.
  ///
  /// Cancelling the caller cancels the runs of all elements.
  ///
  /// - Parameters:
  ///   - elements: The inputs.
  ///   - procedure: The procedure to run for each element. Elements execute concurrently, limited by `maxConcurrentElements` and the width
  ///     of the queue.
  ///   - limit: The maximum number of concurrent elements. Passing a value below 1 traps.
  ///   - policy: The response to the failure of an element.
  ///   - elementName: A function that returns the name of an element in errors, events and diagrams. If the value is `nil`, the name is the
  ///     name of the procedure followed by the index of the element, as in `resize[3]`.
  /// - Returns: The values, in the order of the elements.
  /// - Throws: The same errors as ``run(_:input:)``. With the policy ``FailurePolicy/collect``, throws
  ///   ``ProcedureError/Kind/childrenFailed`` if any element fails.
  /// - Complexity: O(n) for n elements.
  @inlinable
  public nonisolated(nonsending) final func map<P: Procedure>(
    _ elements: some Sequence<P.Input> & Sendable, with procedure: P, maxConcurrentElements limit: Int = .max,
    onFailure policy: FailurePolicy = .failFast, elementName: (@Sendable (P.Input) -> String)? = nil
  ) async throws -> [P.Output] {
    try await run(
      ElementWork(procedure.procedureTask, limit: limit, policy: policy, elementName: elementName).task,
      input: Array(elements))
  }
}
