import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests that no failure on a plain queue is lost.
@Suite(.timeLimit(.minutes(10))) struct UnobservedFailureTests {
  /// Creates a queue, and a list of the names of the procedures whose failures it reports.
  private static func queue() -> (ProcedureQueue, Box<[String]>) {
    let failures = Box<[String]>([])
    var configuration = ProcedureQueue.Configuration("plain")
    configuration.onUnobservedFailure = { failure in failures.update { $0.append(failure.procedure.name) } }
    return (ProcedureQueue(configuration), failures)
  }

  private static func failing(_ name: String) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) { throw TestError(code: 1) }
  }

  @Test("A failure whose handle was dropped is reported once, with its procedure; successes and cancellations are not")
  func dropped() async throws {
    let (queue, failures) = Self.queue()
    queue.add(Self.failing("lost"))
    queue.add(ProcedureTask("good") {})
    queue.add(ProcedureTask("cancelled") { await untilCancelled() }).cancel()
    queue.add(Self.failing("ignored").condition("never") { false })
    await queue.shutDown()
    try await failures.wait { $0 == ["lost"] }
    queue.add(Self.failing("refused"))
    try await failures.wait { $0 == ["lost", "refused"] }
  }

  @Test("A failure that is awaited, depended on, subscribed to or produced is not reported")
  func observed() async throws {
    let (queue, failures) = Self.queue()
    _ = try? await queue.add(Self.failing("value")).value
    _ = await queue.add(Self.failing("outcome")).outcome
    _ = await queue.add(Self.failing("result")).result
    _ = try await queue.add(Self.failing("caught")).catchingErrors().value
    for await _ in queue.add(Self.failing("events")).events {}
    _ = try? await queue.run(Self.failing("run"))
    _ = await queue.add(ProcedureTask("producer") { ProcedureContext.current?.produce(Self.failing("child")) }).outcome
    await queue.add(ProcedureTask("after") {}, after: [queue.add(Self.failing("dependency")).catchingErrors()]).outcome
      .value
    await queue.shutDown()
    queue.add(Self.failing("last"))
    try await failures.wait { $0.contains("last") }
    #expect(failures.value == ["last"])
  }

  @Test("An unobserved dependent of a failure is reported, and the dependency is not")
  func dependent() async throws {
    let (queue, failures) = Self.queue()
    queue.add(ProcedureTask("dependent") {}, after: [queue.add(Self.failing("dependency"))])
    await queue.shutDown()
    try await failures.wait { $0 == ["dependent"] }
  }

  @Test("A failure whose handle is kept unread is reported when the handle is released")
  func kept() async throws {
    let (queue, failures) = Self.queue()
    var handle: ProcedureHandle<Void>? = queue.add(Self.failing("kept"))
    await queue.shutDown()
    #expect(handle?.state == .finished && failures.value.isEmpty)
    handle = nil
    try await failures.wait { $0 == ["kept"] }
  }

  @Test("The handler of unobserved failures can use the queue")
  func reentrant() async throws {
    let names = Box<[String]>([])
    let queue = Box<ProcedureQueue?>(nil)
    var configuration = ProcedureQueue.Configuration("reentrant")
    configuration.onUnobservedFailure = { failure in
      let count = queue.value?.snapshot().procedures.count ?? -1
      queue.value?.add(ProcedureTask { names.update { $0.append("\(failure.procedure.name), \(count >= 0)") } })
    }
    let made = ProcedureQueue(configuration)
    queue.update { $0 = made }
    queue.value?.add(Self.failing("lost"))
    try await names.wait { $0 == ["lost, true"] }
    queue.update { $0 = nil }
  }
}

extension Box {
  /// Waits until the value meets a condition.
  fileprivate func wait(
    sourceLocation: SourceLocation = #_sourceLocation, until isMet: (Value) -> Bool
  ) async throws {
    try await eventually(sourceLocation: sourceLocation) { isMet(value) }
  }
}
