import ProcedureKit
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

  private func makeJobs(log: @escaping @Sendable (String) -> Void = { _ in }) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("jobs", maxConcurrentProcedures: 8)
    configuration.maxWaitingProcedures = 1_000  // further procedures are refused
    configuration.fairness = .byKey  // tenants take turns
    configuration.maxConcurrentProceduresPerKey = 2
    configuration.contextCarriers = [ContextCarrier(RequestID.$current)]
    configuration.onUnobservedFailure = { failure in log("\(failure.procedure.name) failed: \(failure.error)") }
    configuration.interceptor = { context, next in  // a span around each body
      try await Span.$current.withValue(Span(context.name)) { try await next() }
    }
    let jobs = ProcedureQueue(configuration)
    return jobs
  }

  private func answer(_ request: String, of tenant: String, by jobs: ProcedureQueue) async throws -> String {
    let render = ProcedureTask("render") { (request: String) in
      "\(request) for \(RequestID.current ?? "nobody") in \(Span.current?.name ?? "no span")"
    }
    let job: ProcedureHandle<String>
    do {
      job = try jobs.tryAdd(render.keyed(by: tenant), input: request)
    } catch {
      return error.kind == .queueFull ? "429" : "503"  // full, or shut down
    }
    return try await job.value
  }

  @Test("A service answers with the request's id and with a span in the body")
  func answering() async throws {
    let jobs = makeJobs()
    let text = try await RequestID.$current.withValue("r1") { try await answer("a kitten", of: "tenant", by: jobs) }
    #expect(text == "a kitten for r1 in render")
    await jobs.shutDown(grace: .seconds(20))
    #expect(try await answer("a kitten", of: "tenant", by: jobs) == "503")
  }
}
