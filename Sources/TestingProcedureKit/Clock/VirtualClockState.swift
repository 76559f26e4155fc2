import Synchronization

extension VirtualClock {
  /// The sleeps that are pending, with the continuation of each, and the tasks in `nextSleep`.
  struct State {
    var now: Instant
    var queue = SleepQueue()
    var sleepers: [UInt64: UnsafeContinuation<Void, any Error>] = [:]
    var observers: [Observer] = []
    private var lastNumber: UInt64 = 0

    init(now: Instant) {
      self.now = now
    }

    /// A number for a sleep or an observer.
    mutating func number() -> UInt64 {
      lastNumber += 1
      return lastNumber
    }

    /// Takes out the observers that were waiting for as many sleepers as there are now, in order of arrival.
    mutating func takeSatisfiedObservers() -> [Observer] {
      let satisfied = observers.filter { $0.count <= queue.count }
      observers.removeAll { $0.count <= queue.count }
      return satisfied
    }
  }

  /// A task in `nextSleep`.
  struct Observer {
    var number: UInt64
    var count: Int
    var continuation: UnsafeContinuation<Instant, any Error>
  }

  // `Task.isCancelled` is read under the lock: it is set before cancellation handlers run and those need the lock, so
  // that either it is seen here or the handler finds the registered entry.

  func register(_ sleep: SleepQueue.Sleep, _ continuation: UnsafeContinuation<Void, any Error>) {
    enum Outcome { case cancelled, due, asleep([Observer], Instant) }
    let outcome: Outcome = state.withLock { state in
      if Task.isCancelled { return .cancelled }
      if sleep.deadline <= state.now { return .due }
      state.queue.insert(sleep)
      state.sleepers[sleep.number] = continuation
      return .asleep(state.takeSatisfiedObservers(), state.queue.first?.deadline ?? sleep.deadline)
    }
    switch outcome {
    case .cancelled: continuation.resume(throwing: CancellationError())
    case .due: continuation.resume()
    case .asleep(let observers, let deadline):
      for observer in observers { observer.continuation.resume(returning: deadline) }
    }
  }

  func cancel(_ sleep: SleepQueue.Sleep) {
    let sleeper = state.withLock { state in
      state.queue.remove(sleep) ? state.sleepers.removeValue(forKey: sleep.number) : nil
    }
    sleeper?.resume(throwing: CancellationError())
  }

  func register(_ observer: Observer) {
    enum Outcome { case cancelled, satisfied(Instant), waiting }
    let outcome: Outcome = state.withLock { state in
      if Task.isCancelled { return .cancelled }
      if let first = state.queue.first, state.queue.count >= observer.count { return .satisfied(first.deadline) }
      state.observers.append(observer)
      return .waiting
    }
    switch outcome {
    case .cancelled: observer.continuation.resume(throwing: CancellationError())
    case .satisfied(let deadline): observer.continuation.resume(returning: deadline)
    case .waiting: break
    }
  }

  func cancelObserver(_ number: UInt64) {
    let observer = state.withLock { state in
      state.observers.firstIndex { $0.number == number }.map { state.observers.remove(at: $0) }
    }
    observer?.continuation.resume(throwing: CancellationError())
  }
}
