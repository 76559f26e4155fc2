import Synchronization

/// Running and adding by hand, without a library: no queue that could be suspended, no priority, no events, no dependencies, no
/// errors. For running it is the least that the language takes, but for a lock and a look at cancellation before and after; for
/// adding it is a simple line behind one lock, and not the least.
enum BareWork {
  /// What a body can ask who it is.
  private final class Job: Sendable {
    @TaskLocal static var current: Job?

    let owner: any AnyObject & Sendable
    let body: @concurrent @Sendable () async throws -> Void
    let isDone = Atomic(false)

    init(_ owner: any AnyObject & Sendable, _ body: @escaping @concurrent @Sendable () async throws -> Void) {
      (self.owner, self.body) = (owner, body)
    }
  }

  /// Who is executed at the moment, and who waits, behind a lock.
  private final class Register: Sendable {
    private struct State {
      var present: [Job] = []
      var waiting: ContiguousArray<Job?> = []
      var next = 0
    }

    private let state = Mutex(State())

    @inline(never)
    func start(_ body: @escaping @concurrent @Sendable () async throws -> Void) -> Job? {
      guard !Task.isCancelled else { return nil }
      let job = Job(self, body)
      state.withLock { $0.present.append(job) }
      return job
    }

    @inline(never)
    func finish(_ job: Job) -> Bool {
      state.withLock { _ = $0.present.popLast() }
      return !Task.isCancelled
    }

    @inline(never)
    func add(_ body: @escaping @concurrent @Sendable () async throws -> Void) -> Job {
      let job = Job(self, body)
      state.withLock { $0.waiting.append(job) }
      return job
    }

    @inline(never)
    func next() -> Job? {
      state.withLock { state in
        guard state.next < state.waiting.count else { return nil }
        state.next += 1
        // A job refers to this, and would otherwise never be let go of.
        return state.waiting[state.next - 1].take()
      }
    }
  }

  /// Leaves the caller's actor, makes an object, binds it, visits a lock before and after, and looks whether it was
  /// cancelled.
  static let run = Contestant(.bare("run")) { units in
    let register = Register()
    return Trial(units: units) {
      for _ in 0..<units { try await run(in: register) { Tally.note() } }
    }
  }

  /// Makes an object, puts it into a line behind a lock, takes it out in another task, binds it, and notes its end.
  static let add = Contestant(.bare("add")) { units in
    let register = Register()
    return Trial(units: units) {
      async let end: Void = work(units, from: register)
      let jobs = (0..<units).map { _ in register.add { Tally.note() } }
      try await end
      for job in jobs where !job.isDone.load(ordering: .acquiring) { throw CancellationError() }
    }
  }

  @concurrent @inline(never)
  private static func run(
    in register: Register, _ body: @escaping @concurrent @Sendable () async throws -> Void
  ) async throws {
    guard let job = register.start(body) else { throw CancellationError() }
    try await Job.$current.withValue(job) { try await job.body() }
    guard register.finish(job) else { throw CancellationError() }
  }

  @concurrent
  private static func work(_ units: Int, from register: Register) async throws {
    var left = units
    while left > 0 {
      guard let job = register.next() else { continue }
      try await Job.$current.withValue(job) { try await job.body() }
      job.isDone.store(true, ordering: .releasing)
      left -= 1
    }
  }
}
