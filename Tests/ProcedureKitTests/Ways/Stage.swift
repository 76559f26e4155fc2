import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The environment in which one rule is tested in one way: queues, a virtual clock, and signals that enforce an order.
final class Stage: Sendable {
  /// A subject that has been started.
  struct Running: Sendable {
    /// The task that runs the subject, or awaits its handle.
    let caller: Task<Result<Int, any Error>, Never>
    /// The handle of the outermost run, if the run was added.
    let handle: ProcedureHandle<Int>?

    var result: Result<Int, any Error> { get async { await caller.value } }
  }

  /// The variants in which each rule is checked.
  enum Variant: CaseIterable, Sendable {
    /// The subject as it is written in the rule.
    case bare
    /// The subject with a hook that records its outcome.
    case watched
    /// The subject as in `bare`, on a queue with its own executor.
    case onExecutor
  }

  let way: Way
  let variant: Variant
  /// Whether a hook around the subject receives its outcome. Otherwise the subject has only the modifiers of the rule.
  var isWatched: Bool { variant == .watched }
  let clock = VirtualClock()
  let queue: ProcedureQueue
  /// A queue without limits, for the runs that block the subject.
  let others: ProcedureQueue
  /// The category that the subject claims.
  let category = UInt64.random(in: 0 ... .max)
  /// The signal that is set when the subject executes, or reaches the corresponding point of the rule.
  let started = Signal()
  /// The signal that is set when the subject may continue.
  let release = Signal()

  private let lines = Box<[String]>([])
  private let outcomes = Box<[ProcedureOutcome<Int>]>([])
  private let callersTask = Box<Int?>(nil)
  private let executesInCallersTask = Box(false)
  private let context = Box<ProcedureContext?>(nil)
  private let produced = Box<ProcedureHandle<Int>?>(nil)
  private let signals = Box<[Signal]>([])
  private let running = Box<[Running]>([])
  private let isOver = Box(false)

  init(_ way: Way, width: Int, _ variant: Variant) {
    self.way = way
    self.variant = variant
    queue = ProcedureQueue(
      "stage", maxConcurrentProcedures: width, clock: clock, executor: variant == .onExecutor ? CountingExecutor() : nil
    )
    others = ProcedureQueue("others", clock: clock)
    signals.update { [started, release] in $0 = [started, release] }
  }

  // MARK: What happens

  var journal: [String] { lines.value }

  func clearJournal() { lines.update { $0 = [] } }

  func note(_ line: String) { lines.update { $0.append(line) } }

  /// Returns a signal that is set when the stage is cleared, if not earlier.
  func signal() -> Signal {
    let signal = Signal()
    signals.update { $0.append(signal) }
    if isOver.value { signal.set() }
    return signal
  }

  /// Records that the subject executes. The subject's body calls this function first.
  func enter() {
    context.update { $0 = ProcedureContext.current }
    let task = Self.currentTask
    let isCallers = task == callersTask.value
    executesInCallersTask.update { $0 = isCallers }
    started.set()
  }

  /// Whether the body executes in the task of the caller of `run`, which is the exception of C3.
  var isInCallersTask: Bool { executesInCallersTask.value }

  /// Returns a procedure that records "body" and returns 1.
  func subject() -> ProcedureTask<Void, Int> {
    ProcedureTask("subject") { [self] in
      note("body")
      return 1
    }
  }

  /// Returns a procedure that executes until `release`, records "body", and returns 1.
  func waitingSubject() -> ProcedureTask<Void, Int> {
    ProcedureTask("subject") { [self] in
      enter()
      await release.wait()
      note("body")
      return 1
    }
  }

  /// Waits in a body until the body is cancelled. The clock can move in the meantime.
  func untilCancelled(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await eventually(sourceLocation: sourceLocation) {
      Task.isCancelled || ProcedureContext.current?.isCancelled ?? false || isOver.value
    }
  }

  // MARK: Running

  /// Starts `subject` in the way of this stage.
  ///
  /// - Parameters:
  ///   - subject: The procedure under test.
  ///   - isAdded: Whether the outermost run is added to the queue.
  ///   - isReady: The signal for which the calling task waits before it calls.
  /// - Returns: The started subject.
  func start(
    _ subject: ProcedureTask<Void, Int>, isAdded: Bool = false, after isReady: Signal? = nil
  ) -> Running {
    var subject = subject
    if isWatched {
      subject = subject.onWillFinish { [outcomes] outcome in outcomes.update { $0.append(outcome) } }
    }
    let whole = way.whole(subject) { [produced] handle in produced.update { $0 = handle } }
    let handle = isAdded || way == .add ? queue.add(whole) : nil
    let caller = Task { [self] in
      let task = Self.currentTask
      if handle == nil { callersTask.update { $0 = task } }
      await isReady?.wait()
      do {
        if let handle { return Result<Int, any Error>.success(try await handle.value) }
        return .success(try await way == .alone ? whole.called() : queue.run(whole))
      } catch {
        return .failure(error)
      }
    }
    let running = Running(caller: caller, handle: handle)
    self.running.update { $0.append(running) }
    return running
  }

  /// Runs `subject` to completion.
  func result(of subject: ProcedureTask<Void, Int>) async -> Result<Int, any Error> {
    await start(subject).result
  }

  /// Starts `subject` and returns its result after its last hook. The value of an added or produced procedure, or of an element, is
  /// available before `onDidFinish` is called.
  func resultAfterHooks(of subject: ProcedureTask<Void, Int>) async -> Result<Int, any Error> {
    let result = await start(subject).result
    await queue.waitUntilIdle()
    return result
  }

  /// Returns the handle of the produced or added procedure.
  func ownHandle(_ running: Running) -> ProcedureHandle<Int>? {
    way == .child ? produced.value : running.handle
  }

  func cancel(_ running: Running, from side: Side) async {
    switch side {
    case .caller: running.caller.cancel()
    case .handle: running.handle?.cancel(Side.reason)
    case .childHandle:
      // The child can start before its parent has stored the handle.
      try? await eventually { produced.value != nil }
      produced.value?.cancel(Side.reason)
    case .context: context.value?.cancel(Side.reason)
    case .queue: queue.cancelAll(Side.reason)
    }
  }

  /// Waits until a run is on the queue.
  func untilAdmitted(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await eventually(sourceLocation: sourceLocation) { !queue.snapshot().procedures.isEmpty }
  }

  func untilNoted(_ line: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await eventually(sourceLocation: sourceLocation) { journal.contains(line) }
  }

  /// Lets other tasks run for a while. Expectations must not depend on how far they have advanced.
  func settle() async {
    for _ in 0..<50 { await Task.yield() }
  }

  /// Moves the clock until a time limit of the subject has expired.
  var limit: Duration { way == .alone ? .milliseconds(1) : .seconds(5) }

  /// Advances the clock until the run has ended. Without a queue, the subject uses the clock of the machine, and its body waits.
  func passTime(until running: Running) async -> Result<Int, any Error> {
    let hasEnded = Box(false)
    let end = Task {
      let result = await running.result
      hasEnded.update { $0 = true }
      return result
    }
    do {
      try await eventually {
        clock.advance(by: .seconds(5))
        return hasEnded.value
      }
    } catch {
      return .failure(error)
    }
    return await end.value
  }

  /// Lets the time of a subject expire, and expects its caller to receive the timeout.
  func expectTimedOut(_ running: Running, sourceLocation: SourceLocation = #_sourceLocation) async {
    let result = await passTime(until: running)
    #expect((result.failure as? ProcedureError)?.kind == .timedOut, "\(result)", sourceLocation: sourceLocation)
  }

  /// Returns a subject whose body waits for a procedure on another queue. That procedure ends with `end`.
  func waitingSubject(until end: Signal) -> ProcedureTask<Void, Int> {
    let other = others.add(ProcedureTask("other") { await end.wait() })
    return ProcedureTask<Void, Int>("subject") { [self] in
      enter()
      try await other.value
      return 1
    }
  }

  /// Produces a child of the calling body that executes until it is cancelled, and then records the cancellation.
  func produceUntilCancelled(_ name: String, started: Signal) {
    ProcedureContext.current?.produce(
      ProcedureTask(name) { [self] in
        started.set()
        await TestSupport.untilCancelled()
        note("\(name) is cancelled")
      })
  }

  /// Adds a holder of the category to another queue. The holder ends with `end`, and then records "holder".
  func hold(until end: Signal) async {
    let holds = signal()
    others.add(
      ProcedureTask("holder") { [self] in
        holds.set()
        await end.wait()
        note("holder")
      }.exclusive(category))
    await holds.wait()
  }

  /// Acquires and releases the category.
  func takeCategory() async throws {
    try await others.run(ProcedureTask("next") {}.exclusive(category))
  }

  // MARK: Expectations

  /// Checks that the hook around the subject was called once, with an expected outcome.
  func expectHookCalled(
    sourceLocation: SourceLocation = #_sourceLocation, _ isExpected: (ProcedureOutcome<Int>) -> Bool
  ) {
    guard isWatched else { return }
    let all = outcomes.value
    #expect(all.count == 1 && all.allSatisfy(isExpected), "the hook: \(all)", sourceLocation: sourceLocation)
  }

  /// Checks that the subject was cancelled by `side`.
  func expectCancelled(
    _ running: Running, from side: Side, sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let result = await running.result
    #expect(side.throwsError(result.failure), "the caller: \(result)", sourceLocation: sourceLocation)
    expectHookCalled(sourceLocation: sourceLocation) { outcome in
      if case .cancelled(let reason) = outcome { side.gives(reason) } else { false }
    }
  }

  func expect(_ journal: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(self.journal == journal, sourceLocation: sourceLocation)
  }

  /// Sets all signals and cancels all runs.
  func clear() async {
    isOver.update { $0 = true }
    for signal in signals.value { signal.set() }
    for running in running.value {
      running.caller.cancel()
      running.handle?.cancel()
    }
    queue.resume()
    queue.cancelAll()
    others.cancelAll()
  }

  /// Identifies the current task. Invariant: no reference to it leaves the closure, and the caller's task exists while compared.
  private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }
}

extension Result {
  var failure: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }

  var value: Success? { try? get() }
}
