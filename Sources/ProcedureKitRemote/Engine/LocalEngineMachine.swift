internal import ProcedureKit

/// The state machine for the calls in a local engine. It is a value type that contains no lock, clock, or closure.
///
/// A call is first waiting, then executing, and finally closed. If its worker is lost or stopped, the call can wait again. Each step gets a
/// new stamp, which makes it possible to recognize outdated tokens and timers.
struct LocalEngineMachine {
  typealias Key = RemoteCall.Key
  typealias Answer = Result<[UInt8], any Error>

  /// A token that identifies one step of a call.
  struct Token: Hashable, Sendable {
    let key: Key
    let stamp: Int
  }

  /// A call in the form in which a worker receives it.
  struct Delivery {
    let call: RemoteCall
    let token: Token
    let number: Int
  }

  /// The actions that follow from an event.
  struct Effects {
    /// The callers that receive an answer.
    var answers: [(callers: [Int], answer: Answer)] = []
    /// The number of calls that have just begun to wait for a worker.
    var waitingCalls = 0
    /// A step whose time limit must be checked, and the instant of the check.
    var timer: (token: Token, instant: ProcedureInstant)?
    /// The key of a call that has been closed. The time limits of this call no longer have to be checked.
    var closedKey: Key?
  }

  private enum Phase {
    case waiting
    case executing(since: ProcedureInstant, lastHeartbeat: ProcedureInstant)
    case closed(Answer)
  }

  private struct Entry {
    var call: RemoteCall
    var phase = Phase.waiting
    var stamp: Int
    var callers: [Int] = []
    var deliveries = 0
    var lostWorkers = 0
    /// The caller that cancelled the call.
    var cancelledCaller: Int?

    var isCancelled: Bool { cancelledCaller != nil }
  }

  private var entries: [Key: Entry] = [:]
  private var waiting = TokenQueue()
  private var closed = TokenQueue()
  /// The number of tokens in `waiting` whose calls are no longer waiting.
  private var staleCount = 0
  private var lastStamp = 0
  /// The maximum number of closed calls that are kept.
  let memory: Int

  init(memory: Int) { self.memory = memory }

  /// The number of stored tokens, including those of calls that are no longer waiting.
  var waitingTokenCount: Int { waiting.count }

  // MARK: Events

  /// Handles the arrival of a call. Callers with the same key wait for the same execution.
  mutating func called(_ call: RemoteCall, by caller: Int, at now: ProcedureInstant) -> Effects {
    guard let entry = entries[call.key] else { return opened(call, by: caller, at: now) }
    let isSameWork = entry.call.procedure == call.procedure && entry.call.input == call.input
    if case .closed(let answer) = entry.phase {
      guard answer.isSuccess || entry.call.id.hasBytes(of: call.id) else { return opened(call, by: caller, at: now) }
      if isSameWork { return Effects(answers: [([caller], answer)]) }
    }
    guard isSameWork else {
      let reason =
        "the key \(call.key) was already used to call \("\(entry.call.procedure)".quoted), possibly with different input. Use another key"
      return Effects(answers: [([caller], .failure(RemoteError(.keyReused, procedure: call.procedure, reason: reason)))]
      )
    }
    entries[call.key]?.callers.append(caller)
    return Effects()
  }

  /// Handles the cancellation of a caller. If another caller is waiting for the call, only the cancelled caller receives an answer.
  /// Otherwise, the call is cancelled.
  mutating func callerCancelled(_ caller: Int, of key: Key, at now: ProcedureInstant) -> Effects {
    guard let entry = entries[key], entry.callers.contains(caller), entry.cancelledCaller != caller else {
      return Effects()
    }
    let cancelled = Answer.failure(CancellationError())
    guard entry.callers == [caller] else {
      entries[key]?.callers.removeAll { $0 == caller }
      return Effects(answers: [([caller], cancelled)])
    }
    guard case .executing = entry.phase else { return close(key, cancelled) }
    entries[key]?.cancelledCaller = caller
    return Effects()
  }

  /// Removes a caller that is no longer waiting, for example because it was cancelled and the execution did not end within the time limit.
  mutating func callerLeft(_ caller: Int, of key: Key) {
    entries[key]?.callers.removeAll { $0 == caller }
  }

  /// Handles a worker's request for a call. Returns `nil` if no call is waiting.
  mutating func workerAsked(at now: ProcedureInstant) -> (delivery: Delivery, effects: Effects)? {
    while let token = waiting.popFirst() {
      guard var entry = entries[token.key], entry.stamp == token.stamp else {
        staleCount -= 1
        continue
      }
      entry.deliveries += 1
      entry.phase = .executing(since: now, lastHeartbeat: now)
      entry.stamp = newStamp()
      entries[token.key] = entry
      let token = Token(key: token.key, stamp: entry.stamp)
      return (
        Delivery(call: entry.call, token: token, number: entry.deliveries),
        Effects(timer: (token, deadline(of: entry)))
      )
    }
    return nil
  }

  /// Handles a heartbeat from a worker. Returns whether the call has been cancelled; `nil` if the call no longer belongs to the worker.
  mutating func heartbeatArrived(_ token: Token, at now: ProcedureInstant) -> Bool? {
    guard let entry = entries[token.key], entry.stamp == token.stamp, case .executing(let start, _) = entry.phase else {
      return nil
    }
    entries[token.key]?.phase = .executing(since: start, lastHeartbeat: now)
    return entry.isCancelled
  }

  /// Handles an outcome that a worker has reported. Returns `nil` if the call no longer belongs to the worker.
  mutating func ended(_ token: Token, _ outcome: RemoteOutcome, at now: ProcedureInstant) -> Effects? {
    guard let entry = entries[token.key], entry.stamp == token.stamp, case .executing = entry.phase else { return nil }
    switch outcome {
    case .finished(let output): return close(token.key, .success(output))
    case .failed(let failure): return close(token.key, .failure(failure))
    case .cancelled, .abandoned: return interrupted(token.key, at: now)
    }
  }

  /// Handles the expiration of a step's timer. The step times out unless heartbeats have extended its time limit.
  mutating func timerWentOff(_ token: Token, at now: ProcedureInstant) -> Effects {
    guard let entry = entries[token.key], entry.stamp == token.stamp else { return Effects() }
    let deadline = deadline(of: entry)
    guard now >= deadline else { return Effects(timer: (token, deadline)) }
    let (call, limits) = (entry.call, entry.call.limits)
    switch entry.phase {
    case .closed: return Effects()
    case .waiting:
      let reason =
        "no worker accepted the call within \(limits.startTimeout.inWords). Start a worker that provides the procedure"
      return close(token.key, .failure(RemoteError(.noWorker, procedure: call.procedure, reason: reason)))
    case .executing(let start, let lastHeartbeat):
      if !entry.isCancelled, now >= start.advanced(by: limits.executionTimeout.saturated) {
        let reason = "the worker took longer than \(limits.executionTimeout.inWords)"
        return close(token.key, .failure(RemoteError(.executionTimedOut, procedure: call.procedure, reason: reason)))
      }
      entries[token.key]?.lostWorkers += 1
      guard !entry.isCancelled, entry.lostWorkers + 1 >= limits.deliveries else {
        return interrupted(token.key, at: now)
      }
      let reason =
        "\(limits.deliveries.counting("worker was", "workers were")) lost; no heartbeat arrived for "
        + lastHeartbeat.duration(to: now).inWords
      return close(token.key, .failure(RemoteError(.workerLost, procedure: call.procedure, reason: reason)))
    }
  }

  /// Returns whether a token identifies the current step of its call.
  func isPresent(_ token: Token) -> Bool { entries[token.key]?.stamp == token.stamp }

  /// Returns the callers that receive the progress of a call.
  func callers(of token: Token) -> [Int] { entries[token.key]?.callers ?? [] }

  // MARK: Steps

  private mutating func opened(_ call: RemoteCall, by caller: Int, at now: ProcedureInstant) -> Effects {
    // The stored call does not contain `onProgress`, because progress is delivered only to waiting callers. Otherwise, a closed call would
    // retain the closure of its first caller, and therefore that caller's run.
    let kept = RemoteCall(call.procedure, key: call.key, id: call.id, input: call.input, limits: call.limits)
    entries[call.key] = Entry(call: kept, stamp: newStamp(), callers: [caller])
    return waits(call.key, at: now)
  }

  private mutating func waits(_ key: Key, at now: ProcedureInstant) -> Effects {
    guard var entry = entries[key] else { return Effects() }
    entry.phase = .waiting
    entry.stamp = newStamp()
    entries[key] = entry
    let token = Token(key: key, stamp: entry.stamp)
    waiting.append(token)
    return Effects(waitingCalls: 1, timer: (token, now.advanced(by: entry.call.limits.startTimeout.saturated)))
  }

  /// Handles the end of an execution that did not provide an answer. The call is delivered again, unless it has been cancelled and no new
  /// caller has arrived since then.
  private mutating func interrupted(_ key: Key, at now: ProcedureInstant) -> Effects {
    guard let entry = entries[key] else { return Effects() }
    guard let caller = entry.cancelledCaller else { return waits(key, at: now) }
    let others = entry.callers.filter { $0 != caller }
    guard !others.isEmpty else { return close(key, .failure(CancellationError())) }
    entries[key]?.cancelledCaller = nil
    entries[key]?.callers = others
    var effects = waits(key, at: now)
    if entry.callers.contains(caller) { effects.answers = [([caller], .failure(CancellationError()))] }
    return effects
  }

  private mutating func close(_ key: Key, _ answer: Answer) -> Effects {
    guard var entry = entries[key] else { return Effects() }
    let callers = entry.callers
    let hasWaited = if case .waiting = entry.phase { true } else { false }
    (entry.phase, entry.stamp, entry.callers) = (.closed(answer), newStamp(), [])
    entries[key] = entry
    if hasWaited { dropStaleTokens() }
    closed.append(Token(key: key, stamp: entry.stamp))
    while closed.count > memory, let oldest = closed.popFirst() {
      if entries[oldest.key]?.stamp == oldest.stamp { entries[oldest.key] = nil }
    }
    return Effects(answers: [(callers, answer)], closedKey: key)
  }

  /// Records that a token has become stale, because its call is no longer waiting. Once most tokens are stale, the stale ones are dropped,
  /// even if no worker requests a call.
  ///
  /// - Complexity: Amortized O(1).
  private mutating func dropStaleTokens() {
    staleCount += 1
    guard staleCount > 64, staleCount * 2 > waiting.count else { return }
    waiting.keep { entries[$0.key]?.stamp == $0.stamp }
    staleCount = 0
  }

  private func deadline(of entry: Entry) -> ProcedureInstant {
    let limits = entry.call.limits
    guard case .executing(let start, let lastHeartbeat) = entry.phase else { return ProcedureInstant(nanoseconds: 0) }
    return min(
      lastHeartbeat.advanced(by: limits.heartbeatTimeout.saturated),
      start.advanced(by: limits.executionTimeout.saturated))
  }

  private mutating func newStamp() -> Int {
    lastStamp += 1
    return lastStamp
  }
}

/// A queue of tokens.
private struct TokenQueue {
  private var tokens: [LocalEngineMachine.Token?] = []
  private var first = 0

  var count: Int { tokens.count - first }

  mutating func append(_ token: LocalEngineMachine.Token) { tokens.append(token) }

  mutating func keep(where isKept: (LocalEngineMachine.Token) -> Bool) {
    tokens = tokens.dropFirst(first).filter { $0.map(isKept) ?? false }
    first = 0
  }

  /// Removes and returns the first token; `nil` if there is none.
  ///
  /// - Complexity: Amortized O(1).
  mutating func popFirst() -> LocalEngineMachine.Token? {
    guard first < tokens.count else { return nil }
    defer {
      tokens[first] = nil
      first += 1
      if first > 64, first * 2 > tokens.count {
        tokens.removeFirst(first)
        first = 0
      }
    }
    return tokens[first]
  }
}
