import Synchronization

/// Hand-written code that runs and adds work without a library. It does not support suspension, priorities, events, dependencies or errors.
/// When it runs work, it acquires a lock and checks for cancellation before and after the body. Otherwise, it does only what the language
/// requires. When it adds work, it uses a simple queue protected by one lock. Cheaper implementations are possible.
enum BareWork {
  /// A job. A body can read `current` to find out which job it belongs to.
  private final class Job: Sendable {
    @TaskLocal static var current: Job?

    let owner: any AnyObject & Sendable
    let body: @concurrent @Sendable () async throws -> Void
    let isDone = Atomic(false)

    init(_ owner: any AnyObject & Sendable, _ body: @escaping @concurrent @Sendable () async throws -> Void) {
      (self.owner, self.body) = (owner, body)
    }
  }

  /// The executing and waiting jobs, protected by a lock.
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
        // A job refers to this object, so without this line the job would never be released.
        return state.waiting[state.next - 1].take()
      }
    }
  }

  /// The contestant that leaves the caller's actor, creates an object, and binds a task-local value to it. It acquires a lock and checks
  /// for cancellation before and after the body.
  static let run = Contestant(.bare("run")) { units in
    let register = Register()
    return Trial(units: units) {
      for _ in 0..<units { try await run(in: register) { Tally.note() } }
    }
  }

  /// The contestant that creates an object, and enqueues it under a lock. Another task dequeues the object, binds a task-local value to it,
  /// and records that it finished.
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
