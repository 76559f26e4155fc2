import TestingProcedureKit

extension ExplorationEnvironment {
  /// The virtual time since the schedule began.
  var elapsed: Duration { clock.now.offset }

  /// Waits until no other job can run. Time moves only then.
  func settle() async {
    try? await clock.sleep(until: clock.now.advanced(by: .nanoseconds(1)))
  }

  /// Waits until the given time has passed since the schedule began.
  func wait(until instant: Duration) async {
    try? await clock.sleep(until: .init(offset: instant))
  }

  /// Returns a procedure that sleeps, and then returns its input.
  func sleeper(_ name: String = "sleeper", for duration: Duration) -> ProcedureTask<Int, Int> {
    ProcedureTask(name) { [clock] in
      try await clock.sleep(for: duration)
      return $0
    }
  }
}

/// A procedure that fails a number of times, and then returns the number of the attempt. It records the time and the number of each
/// attempt.
struct Flaky: InputlessProcedure {
  let failures: Int
  let clock: VirtualClock
  let starts = Locked<[Duration]>([])
  let attempts = Locked<[Int]>([])

  init(failing failures: Int = .max, _ env: ExplorationEnvironment) {
    self.failures = failures
    clock = env.clock
  }

  func execute() async throws -> Int {
    let number = starts { [now = clock.now.offset] in
      $0.append(now)
      return $0.count
    }
    attempts { [attempt = ProcedureContext.current?.attempt ?? 0] in $0.append(attempt) }
    guard number > failures else { throw Flaw(number: number) }
    return number
  }
}

struct Flaw: Error, Equatable {
  var number: Int
}

extension ProcedureOutcome {
  /// The timeout that ended the run; `nil` if no timeout ended it.
  var timeout: Duration? {
    procedureError?.duration
  }

  /// Whether the body of the timed-out run had started.
  var hasStartedBeforeTimeout: Bool? {
    procedureError?.hasStarted
  }
}
