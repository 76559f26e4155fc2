import TestingProcedureKit

extension ExplorationEnvironment {
  /// The virtual time since the schedule began.
  var elapsed: Duration { clock.now.offset }

  /// Waits until nothing can run any more: only then does time move.
  func settle() async {
    try? await clock.sleep(until: clock.now.advanced(by: .nanoseconds(1)))
  }

  /// Waits until that much time has passed since the schedule began.
  func wait(until instant: Duration) async {
    try? await clock.sleep(until: .init(offset: instant))
  }

  /// A procedure that sleeps, and then returns what it is given.
  func sleeper(_ name: String = "sleeper", for duration: Duration) -> ProcedureTask<Int, Int> {
    ProcedureTask(name) { [clock] in
      try await clock.sleep(for: duration)
      return $0
    }
  }
}

/// Fails so often, and then returns the number of the attempt; writes down when it was executed, and as which attempt.
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
  /// How long it was allowed to take, if it ended because of that.
  var timeout: Duration? {
    procedureError?.duration
  }

  /// Whether the body of what was cancelled because of its time had started.
  var hasStartedBeforeTimeout: Bool? {
    procedureError?.hasStarted
  }
}
