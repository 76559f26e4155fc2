import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The code of the guide *In a service*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct InAServiceGuide {
  private enum RequestID {
    @TaskLocal static var current: String?
  }

  private struct Span {
    @TaskLocal static var current: Span?
    var name: String
    init(_ name: String) { self.name = name }
  }

  private struct ClientGone: Error {}

  private func makeJobs(log: @escaping @Sendable (String) -> Void = { _ in }) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("jobs", maxConcurrentProcedures: 8)
    configuration.maxWaitingProcedures = 1_000  // further procedures are refused
    configuration.maxWaitingProceduresPerKey = 100
    configuration.fairness = .byKey  // tenants take turns
    configuration.maxConcurrentProceduresPerKey = 2
    configuration.collectsTotals = true  // for /metrics
    configuration.contextCarriers = [ContextCarrier(RequestID.$current)]
    configuration.onUnobservedFailure = { failure in log("\(failure.procedure.name) failed: \(failure.error)") }
    configuration.interceptor = { context, next in  // a span around each body
      try await Span.$current.withValue(Span(context.name)) { try await next() }
    }
    let jobs = ProcedureQueue(configuration)
    return jobs
  }

  private let render = ProcedureTask("render") { (request: String) in
    "\(request) for \(RequestID.current ?? "nobody") in \(Span.current?.name ?? "no span")"
  }

  /// The status of the response to a request whose job has failed.
  func status(for error: any Error) -> Int {
    guard let error = error as? ProcedureError else { return 500 }
    switch error.kind {
    case .queueFull where error.key != nil: return 429  // this tenant has too many jobs waiting
    case .queueFull, .queueShutDown: return 503  // this instance is overloaded, or is stopping
    case .circuitOpen, .rateExceeded: return 503  // `error.retryAfter` belongs in the `Retry-After` field
    case .timedOut: return 504
    default: return 500
    }
  }

  private func respond(to request: String, from tenant: String, by jobs: ProcedureQueue) async -> (Int, String) {
    do {
      let job = try jobs.tryAdd(render.keyed(by: tenant), input: request)
      return (200, try await job.value)
    } catch {
      return (status(for: error), "try again later")
    }
  }

  @Test("Responding, with the request's ID and a span in the body")
  func responding() async throws {
    let jobs = makeJobs()
    let response = await RequestID.$current.withValue("r1") { await respond(to: "a kitten", from: "acme", by: jobs) }
    #expect(response == (200, "a kitten for r1 in render"))
    await jobs.shutDown(grace: .seconds(20))
    #expect(await respond(to: "a kitten", from: "acme", by: jobs).0 == 503)
  }

  @Test("A tenant at its limit receives 429, and everyone receives 503 from a full queue")
  func refusals() async throws {
    var configuration = ProcedureQueue.Configuration("jobs", isSuspended: true)
    configuration.maxWaitingProcedures = 3
    configuration.maxWaitingProceduresPerKey = 2
    let jobs = ProcedureQueue(configuration)
    for _ in 0..<2 { try jobs.tryAdd(render.keyed(by: "acme"), input: "a kitten") }
    #expect(await respond(to: "a kitten", from: "acme", by: jobs).0 == 429)
    try jobs.tryAdd(render.keyed(by: "zebra"), input: "a kitten")
    #expect(await respond(to: "a kitten", from: "zebra", by: jobs).0 == 503)
    let identity = ProcedureIdentity(id: jobs.snapshot().procedures[0].procedure.id, name: "render")
    let kinds: [(ProcedureError.Kind, Int)] = [
      (.circuitOpen, 503), (.rateExceeded, 503), (.timedOut, 504), (.ignored, 500),
    ]
    for (kind, expected) in kinds { #expect(status(for: ProcedureError(kind, procedure: identity)) == expected) }
    #expect(status(for: ClientGone()) == 500)
    await jobs.shutDown()
  }

  private func value(of job: ProcedureHandle<String>) async throws -> String {
    try await withTaskCancellationHandler {
      try await job.value
    } onCancel: {
      job.cancel(ClientGone())  // without this line, only the wait would end
    }
  }

  @Test("The job of a client that has gone away is cancelled, whether it waits or executes", arguments: [true, false])
  func cancellation(isExecuting: Bool) async throws {
    let jobs = ProcedureQueue("jobs", isSuspended: !isExecuting)
    let job = jobs.add(
      ProcedureTask("render") {
        await untilCancelled()
        return "a kitten"
      })
    if isExecuting { try await eventually { job.state == .executing } }
    let request = Task { try await value(of: job) }
    request.cancel()
    await #expect(throws: (any Error).self) { try await request.value }
    let outcome = await job.outcome
    guard case .cancelled(let reason) = outcome else { return #expect(Bool(false), "\(outcome)") }
    #expect(reason is ClientGone)
  }

  // MARK: Stopping

  struct Order: Sendable {
    var tenant: String
    var number: Int
    func carryOut() async throws {
      if number == 0 { await untilCancelled() }
    }
  }

  actor Orders {
    private let jobs: ProcedureQueue
    /// The orders that have not been carried out, keyed by the IDs of their jobs.
    private var open: [ProcedureID: Order] = [:]

    init(_ jobs: ProcedureQueue) { self.jobs = jobs }

    /// Accepts an order, so that the server can respond with "202" immediately.
    func accept(_ order: Order) throws {
      let job = ProcedureTask("order") { try await order.carryOut() }
        .keyed(by: order.tenant)
        .onDidFinish { [self] outcome in
          if case .cancelled = outcome { return }
          if let id = ProcedureContext.current?.id { await close(id) }
        }
      open[try jobs.tryAdd(job).id] = order
    }

    private func close(_ id: ProcedureID) { open[id] = nil }

    /// Stops the queue, and returns the orders that the next process has to carry out.
    func stop() async -> [Order] {
      let waiting = jobs.cancelWaiting()  // otherwise, they would start during the grace period
      let report = await jobs.shutDown(grace: .seconds(20))
      return (waiting.notStarted + report.notStarted).compactMap { open[$0.procedure.id] }
    }
  }

  @Test("Orders that were not started are returned, and those that were carried out are not")
  func stopping() async throws {
    let clock = VirtualClock()
    let jobs = ProcedureQueue("jobs", maxConcurrentProcedures: 1, clock: clock)
    let orders = Orders(jobs)
    try await orders.accept(Order(tenant: "acme", number: 1))
    try await eventually { await orders.openCount == 0 }
    for number in [0, 2, 3] { try await orders.accept(Order(tenant: "acme", number: number)) }
    try await eventually { jobs.snapshot().procedures.first?.state == .executing }
    async let rest = orders.stop()
    try await clock.nextSleep()
    clock.advance(by: .seconds(20))
    #expect(await rest.map(\.number) == [2, 3])
  }
}

extension InAServiceGuide.Orders {
  fileprivate var openCount: Int { open.count }
}
