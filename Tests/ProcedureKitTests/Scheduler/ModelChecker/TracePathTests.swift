import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Compares the events of real queues, in many orders of their tasks, with the paths of the model.
@Suite(.timeLimit(.atDepth)) struct TracePathTests {
  private typealias Traces = Mutex<Set<[TraceEvent]>>

  private struct Failure: Error {}

  /// Two resources, an edge, a condition, a cancellation and a suspension.
  private static let claims = QueueBounds(
    kinds: [
      RunKind(resources: 1), RunKind(hasConditions: true, dependsOnPrevious: true),
      RunKind(isUrgent: true, resources: 3, isDrivenByWorker: false),
    ],
    runs: 3, width: 1, cancellations: 1, suspensions: 1)

  /// Two keys, a limit for each, a priority, and a pause between two attempts.
  private static let keys = QueueBounds(
    kinds: [RunKind(key: 1, pauses: true), RunKind(key: 1), RunKind(isUrgent: true, key: 2, isDrivenByWorker: false)],
    runs: 4, takesTurns: true, limitPerKey: 1, cancellations: 1)

  @Test("The events of a queue with resources, a dependency and a suspension are paths of the model")
  func pathsWithClaims() async throws {
    let traces = Traces([])
    try await exploreSchedules(TestDepth.count(600, least: 60)) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 1)
      let stream = queue.events(bufferingNewest: .max)
      async let events = stream.reduce(into: []) { $0.append($1) }
      let copy = queue.add(ProcedureTask("0") { await Task.yield() }.exclusive("a").priority(.low))
      let page = queue.add(
        ProcedureTask("1") { await Task.yield() }.condition("is ready") { true }.priority(.low), after: [copy])
      async let index: Void? = try? queue.run(
        ProcedureTask("2") { await Task.yield() }.exclusive("a", "b").priority(.high))
      async let cancellation: Void = (env.random.below(2) == 0 ? copy : page).cancel()
      queue.suspend()
      await Task.yield()
      queue.resume()
      _ = await (index, cancellation)
      await queue.shutDown()
      let trace = TraceEvent.trace(of: await events)
      traces.withLock { _ = $0.insert(trace) }
    }
    expectPaths(traces.withLock { $0 }, of: Self.claims)
  }

  @Test("The events of a queue with keys and a retry are paths of the model")
  func pathsWithKeys() async throws {
    let traces = Traces([])
    try await exploreSchedules(TestDepth.count(600, least: 60)) { env in
      var configuration = ProcedureQueue.Configuration("queue", maxConcurrentProcedures: 2)
      (configuration.fairness, configuration.maxConcurrentProceduresPerKey) = (.byKey, 1)
      let queue = env.makeQueue(configuration)
      let stream = queue.events(bufferingNewest: .max)
      async let events = stream.reduce(into: []) { $0.append($1) }
      let isSecond = Mutex(false)
      queue.add(
        ProcedureTask("0") {
          let fails = isSecond.withLock { isSecond in
            defer { isSecond = true }
            return !isSecond
          }
          if fails { throw Failure() }
        }.retry(.constant(.seconds(1)), maxAttempts: 2).keyed(by: "a").priority(.low))
      let others = (0..<2).map { _ in queue.add(ProcedureTask("1") { await Task.yield() }.keyed(by: "a").priority(.low))
      }
      async let urgent: Void? = try? queue.run(
        ProcedureTask("2") { await Task.yield() }.keyed(by: "b").priority(.high))
      async let cancellation: Void = others[0].cancel()
      _ = await (urgent, cancellation)
      await queue.shutDown()
      let trace = TraceEvent.trace(of: await events)
      traces.withLock { _ = $0.insert(trace) }
    }
    expectPaths(traces.withLock { $0 }, of: Self.keys)
  }

  /// Checks that each trace is a path, and that it is no path with one event fewer, or with a dependent that starts too early.
  private func expectPaths(_ traces: Set<[TraceEvent]>, of bounds: QueueBounds) {
    let replay = TraceReplay(bounds)
    #expect(traces.count > 10)
    for trace in traces {
      let position = replay.firstImpossibleEvent(of: trace)
      #expect(position == nil, "event \(position ?? -1) is impossible in \(trace)")
      #expect(replay.firstImpossibleEvent(of: trace.dropLast()) != nil, "\(trace)")
      for (number, kind) in trace.compactMap(\.kind).enumerated()
      where trace.contains(.finished(number, successfully: true)) {
        // Whether a run pauses is a choice of its body, so it may execute only once.
        if !bounds.kinds[kind].pauses { expectNoPath(trace.filter { $0 != .executes(number) }, replay) }
        if bounds.kinds[kind].dependsOnPrevious,
          let end = trace.firstIndex(of: .finished(number - 1, successfully: true))
        {
          expectNoPath(
            trace[..<end].filter { $0 != .executes(number) } + [.executes(number)]
              + trace[end...].filter { $0 != .executes(number) }, replay)
        }
      }
    }
    #expect(replay.violations.isEmpty, "\(replay.violations.first.map { "\($0)" } ?? "")")
  }

  private func expectNoPath(_ trace: [TraceEvent], _ replay: TraceReplay) {
    #expect(replay.firstImpossibleEvent(of: trace) != nil, "\(trace)")
  }
}
