/// Internal. What the procedures and the reader of a result sequence leave for the task that iterates, and how many inputs may be read.
///
/// Invariant of `@unchecked Sendable`: each `var` is guarded by the lock of `core`. There is one task that iterates, and one that reads.
final class ResultExchange<Output: Sendable>: @unchecked Sendable {
  enum Arrival: Sendable {
    /// The reader has added a procedure.
    case added(ProcedureHandle<Output>)
    /// The procedure with this number has finished.
    case finished(Int)
    /// No input follows.
    case inputEnded((any Error)?)
  }

  private let core: QueueCore
  private var arrivals: ContiguousArray<Arrival> = []
  private var credit = 0
  private var consumer: Wakeup?
  private var reader: Wakeup?

  init(_ core: QueueCore) { self.core = core }

  func send(_ arrival: Arrival) {
    let waiting = core.withState { _ in
      arrivals.append(arrival)
      return consumer.take()
    }
    waiting?.call()
  }

  func takeAll() -> ContiguousArray<Arrival> { core.withState { _ in arrivals.takeAll() } }

  /// Returns a wakeup that is called with the next arrival; `nil` if there are arrivals.
  func waitForArrival() -> Wakeup? {
    let wakeup = Wakeup()
    return core.withState { _ in
      guard arrivals.isEmpty else { return nil }
      consumer = wakeup
      return wakeup
    }
  }

  /// Lets the reader read more inputs.
  func grant(_ count: Int) {
    let waiting = core.withState { _ in
      credit += count
      return reader.take()
    }
    waiting?.call()
  }

  /// Waits until one more input may be read. Returns `false` if the reader is cancelled before.
  func isWanted() async -> Bool {
    while !takeCredit(orWaitAt: nil) {
      let wakeup = Wakeup()
      if takeCredit(orWaitAt: wakeup) { return true }
      guard await wakeup.wait() else { return false }
    }
    return !Task.isCancelled
  }

  private func takeCredit(orWaitAt wakeup: Wakeup?) -> Bool {
    core.withState { _ in
      guard credit > 0 else {
        reader = wakeup
        return false
      }
      credit -= 1
      return true
    }
  }
}
