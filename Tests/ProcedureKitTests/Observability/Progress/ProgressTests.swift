import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite(.timeLimit(.minutes(10))) struct ProgressTests {
  private struct Failure: Error {}

  /// A stream from which each body takes its reports, until the stream ends.
  private typealias Reports = AsyncStream<Double>

  private func reporting(_ name: String, _ reports: Reports) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) { for await fraction in reports { ProcedureContext.current?.progress.report(fraction) } }
  }

  @Test("The progress of a finished run is 1, even if it is read as soon as the state changes")
  func readAtTheEnd() async throws {
    let queue = ProcedureQueue("q")
    // The last events are sent to all subscribers between the change of the state and the end of the progress.
    let subscriptions = (0..<200).map { _ in queue.events(bufferingNewest: 1) }
    defer { withExtendedLifetime(subscriptions) {} }
    for _ in 0..<500 {
      let handle = queue.add(ProcedureTask { ProcedureContext.current?.progress.report(0.5) })
      try await eventually { handle.state == .finished }
      #expect(await handle.progress.first { _ in true }?.fraction == 1)
    }
  }

  @Test("A handle's progress starts with the current value, continues with the newest values, and ends with 1")
  func handle() async throws {
    let queue = ProcedureQueue("q")
    let (reports, report) = Reports.makeStream()
    let handle = queue.add(reporting("work", reports))
    var values = handle.progress.makeAsyncIterator()
    #expect(await values.next()?.fraction == 0)
    report.yield(0.25)
    #expect(await values.next()?.fraction == 0.25)
    for percent in 26...75 { report.yield(Double(percent) / 100) }
    var latest = 0.0
    while latest < 0.75, let fraction = await values.next()?.fraction {
      #expect(fraction > latest)
      latest = fraction
    }
    report.finish()
    #expect(await values.next()?.fraction == 1)
    #expect(await values.next()?.fraction == nil)
    #expect(await handle.progress.reduce(into: []) { $0.append($1.fraction) } == [1], "of one that subscribes late")
  }

  @Test("The progress of a run that fails or is cancelled ends its streams, and keeps its last value")
  func failure() async throws {
    let queue = ProcedureQueue("q")
    let failing = queue.add(
      ProcedureTask<Void, Void>("fail") {
        ProcedureContext.current?.progress.report(3, of: 4)
        throw Failure()
      })
    _ = await failing.outcome
    #expect(await failing.progress.reduce(into: []) { $0.append($1.fraction) } == [0.75])
    let (reports, report) = Reports.makeStream()
    let cancelled = queue.add(reporting("endless", reports))
    var values = cancelled.progress.makeAsyncIterator()
    #expect(await values.next()?.fraction == 0)
    report.yield(0.5)
    #expect(await values.next()?.fraction == 0.5)
    cancelled.cancel()
    #expect(await values.next()?.fraction == 0.5, "the value without a remaining time")
    #expect(await values.next()?.fraction == nil)
    queue.suspend()
    let unstarted = queue.add(ProcedureTask("never") {})
    unstarted.cancel()
    #expect(await unstarted.progress.reduce(into: []) { $0.append($1.fraction) } == [0])
  }

  @Test("The progress of a graph is that of its nodes, by weight, including nodes that are skipped or reused")
  func graph() async throws {
    let (reports, report) = Reports.makeStream()
    let (reports2, report2) = Reports.makeStream()
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let first = g.add(reporting("first", reports).progressWeight(4))
      let second = g.add(ProcedureTask<Void, Void>("fail") { throw Failure() }.progressWeight(2), after: [first])
      g.add(ProcedureTask("skipped") {}, after: [second])
      g.add(ProcedureTask("reused") {}.reusing("cache") { () }.progressWeight(1), after: [first])
      g.add(reporting("last", reports2).retry(.immediate, maxAttempts: 1).progressWeight(2), after: [first])
    }.onFailure(.collect)
    let queue = ProcedureQueue("q")
    let handle = queue.add(graph)
    var values = handle.progress.makeAsyncIterator()
    #expect(await values.next()?.fraction == 0)
    report.yield(0.5)
    #expect(await values.next()?.fraction == 0.2)
    report.finish()
    var latest = 0.0
    while latest < 0.8 { latest = try #require(await values.next()?.fraction) }
    #expect(latest == 0.8)
    report2.yield(0.5)
    #expect(await values.next()?.fraction == 0.9)
    report2.finish()
    while let fraction = await values.next()?.fraction { latest = fraction }
    #expect(latest == 1, "all nodes have ended, though one has failed")
  }

  @Test("A graph counts the nodes that ended before the first reader arrived", arguments: [true, false])
  func late(fails: Bool) async throws {
    let (reports, report) = Reports.makeStream()
    let started = AsyncStream.makeStream(of: Void.self)
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let first = g.add(ProcedureTask("first") { if fails { throw Failure() } })
      let second = g.add(ProcedureTask("second") {}, after: [first])
      g.add(
        ProcedureTask<Void, Void>("third") {
          started.continuation.yield()
          for await fraction in reports { ProcedureContext.current?.progress.report(fraction) }
        }, after: [second.catchingErrors()])
      g.add(ProcedureTask("fourth") {}, after: [first.catchingErrors()])
    }.onFailure(.collect).maxConcurrentNodes(1)
    let queue = ProcedureQueue("q")
    let handle = queue.add(graph)
    for await _ in started.stream { break }
    var values = handle.progress.makeAsyncIterator()
    let first = try #require(await values.next()?.fraction)
    #expect(first == 0.5 || first == 0.75)
    report.yield(0.5)
    #expect(await values.next()?.fraction == first + 0.125)
    report.finish()
    _ = await handle.outcome
    #expect(await handle.progress.reduce(into: []) { $0.append($1.fraction) } == [1])
  }

  @Test("The progress of a graph with a map includes the elements of the map", arguments: [true, false])
  func elements(isReadBefore: Bool) async throws {
    let (gates, opened) = AsyncStream.makeStream(of: Void.self)
    let started = AsyncStream.makeStream(of: Void.self)
    let graph = ProcedureGraph("graph") { g in
      let numbers = g.add("numbers") { [1, 2, 3, 4] }
      let element = ProcedureTask("element") { (number: Int) -> Int in
        started.continuation.yield()
        for await _ in gates { break }
        return number
      }
      return g.map(numbers, with: element, maxConcurrentElements: 1)
    }
    let handle = ProcedureQueue("q").add(graph)
    var values = isReadBefore ? handle.progress.makeAsyncIterator() : nil
    var starts = started.stream.makeAsyncIterator()
    _ = await starts.next()
    opened.yield()
    _ = await starts.next()
    var late = handle.progress.makeAsyncIterator()
    var fraction = 0.0
    // The first node is half of the graph, and the first element is a quarter of the other half.
    while fraction < 0.625, let next = isReadBefore ? await values?.next() : await late.next() {
      fraction = next.fraction
    }
    #expect(fraction == 0.625)
    for _ in 0..<3 { opened.yield() }
    #expect(try await handle.value == [1, 2, 3, 4])
  }

  @Test("Produced children add up by weight, including those of a nested graph and of other children")
  func children() async throws {
    let (reports, report) = Reports.makeStream()
    let (end, started) = (Signal(), AsyncStream.makeStream(of: Void.self))
    let inner = ProcedureGraph("inner", returning: Void.self) { g in
      g.add(reporting("node", reports))
      g.add(ProcedureTask("other") { await end.wait() })
    }
    let parent = ProcedureTask<Void, Void>("parent") {
      guard let context = ProcedureContext.current else { return }
      context.produce(
        ProcedureTask("child") {
          ProcedureContext.current?.produce(inner)
          started.continuation.yield()
        }.progressWeight(3))
      context.produce(ProcedureTask("quick") { await end.wait() })
    }
    let queue = ProcedureQueue("q")
    let handle = queue.add(parent)
    for await _ in started.stream { break }
    var values = handle.progress.makeAsyncIterator()
    #expect(await values.next()?.fraction == 0)
    report.yield(0.5)
    #expect(await values.next()?.fraction == 0.75 * 0.25)
    report.yield(1)
    #expect(await values.next()?.fraction == 0.75 * 0.5)
    report.finish()
    end.set()
    var latest = 0.0
    while let fraction = await values.next()?.fraction { latest = fraction }
    #expect(latest == 1)
  }

  @Test("A second attempt of a graph starts again without going back, and its nodes do not count twice")
  func retriedGraph() async throws {
    let (reports, report) = Reports.makeStream()
    let attempts = Box(0)
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let first = g.add(ProcedureTask("first") {})
      g.add(
        ProcedureTask<Void, Void>("second") {
          if attempts.value == 1 { throw Failure() }
          for await fraction in reports { ProcedureContext.current?.progress.report(fraction) }
        }, after: [first])
    }
    let queue = ProcedureQueue("q")
    let counted = graph.onWillExecute { _ in attempts.update { $0 += 1 } }
    let handle = queue.add(counted.retry(.immediate, maxAttempts: 2))
    var values = handle.progress.makeAsyncIterator()
    var latest = 0.0
    while latest < 0.5 { latest = try #require(await values.next()?.fraction) }
    report.yield(0.5)
    while latest < 0.75 { latest = try #require(await values.next()?.fraction) }
    #expect(latest == 0.75)
    report.finish()
    #expect(await values.next()?.fraction == 1)
    #expect(attempts.value == 2)
  }

  @Test("The time left is measured with the clock of the queue")
  func remaining() async throws {
    let clock = VirtualClock()
    var configuration = ProcedureQueue.Configuration("q")
    configuration.clock = clock
    let queue = ProcedureQueue(configuration)
    let (reports, report) = Reports.makeStream()
    let started = AsyncStream.makeStream(of: Void.self)
    let handle = queue.add(
      ProcedureTask("work") {
        started.continuation.yield()
        for await fraction in reports { ProcedureContext.current?.progress.report(fraction) }
      })
    for await _ in started.stream { break }
    var values = handle.progress.makeAsyncIterator()
    #expect(await values.next()?.remaining == nil)
    clock.advance(by: .seconds(10))
    report.yield(0.25)
    #expect(await values.next()?.remaining == .seconds(30))
    #expect(queue.snapshot().procedures.first?.progress == 0.25)
    report.finish()
    #expect(await values.next()?.remaining == .zero)
  }

  @Test("A reader that is cancelled or dropped retains nothing, and several readers have the same values")
  func readers() async throws {
    let queue = ProcedureQueue("q")
    let (reports, report) = Reports.makeStream()
    let handle = queue.add(reporting("work", reports))
    let reader = Task { await handle.progress.reduce(into: 0) { count, _ in count += 1 } }
    var values = handle.progress.makeAsyncIterator()
    #expect(await values.next()?.fraction == 0)
    reader.cancel()
    #expect(await reader.value <= 1)
    report.yield(0.5)
    #expect(await values.next()?.fraction == 0.5)
    let other = await handle.progress.first { _ in true }
    #expect(other?.fraction == 0.5)
    report.finish()
    #expect(await values.next()?.fraction == 1)
  }

  @Test("A run that neither reports nor is read has no place in the tree, and neither do its nodes")
  func unread() async throws {
    let queue = ProcedureQueue("q")
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let first = g.add(ProcedureTask("first") {})
      g.add(ProcedureTask("second") {}.exclusive("x"), after: [first])
    }
    let handle = queue.add(graph)
    try await handle.value
    #expect(handle.run.core.read { $0.runs[handle.run].details.extensions.progress == nil })
    let parent = queue.add(
      ProcedureTask<Void, Void>("parent") { _ = ProcedureContext.current?.produce(ProcedureTask("child") {}) })
    try await parent.value
    #expect(parent.run.core.read { $0.runs[parent.run].details.extensions.progress == nil })
  }

  @Test("Readers and events never see the progress go back, even if many tasks report concurrently", arguments: 0..<5)
  func race(round: Int) async throws {
    let queue = ProcedureQueue("q")
    let recorder = EventRecorder(queue)
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      for node in 0..<8 {
        g.add(
          ProcedureTask("node \(node)") {
            let progress = ProcedureContext.current?.progress
            await withDiscardingTaskGroup { group in
              for task in 0..<4 {
                group.addTask { for step in 0..<50 { progress?.report(step * 4 + task, of: 200) } }
              }
            }
          })
      }
    }
    let handle = queue.add(graph)
    var latest = -1.0
    for await progress in handle.progress {
      #expect(progress.fraction >= latest)
      latest = progress.fraction
    }
    #expect(latest == 1)
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    #expect(recorder.events.orderViolations() == [])
    for run in Dictionary(grouping: recorder.events, by: \.id).values {
      let fractions = run.compactMap(\.fraction)
      #expect(fractions == fractions.sorted() && fractions.count <= 101)
    }
  }

  @Test("A weight that is negative or infinite traps, and a weight of 0 does not count")
  func zeroWeight() async throws {
    let (reports, report) = Reports.makeStream()
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let first = g.add(ProcedureTask("light") {}.progressWeight(0))
      g.add(reporting("heavy", reports).progressWeight(9).progressWeight(2), after: [first])
    }
    let handle = ProcedureQueue("q").add(graph)
    var values = handle.progress.makeAsyncIterator()
    #expect(await values.next()?.fraction == 0)
    report.yield(0.5)
    #expect(await values.next()?.fraction == 0.5)
    report.finish()
    #expect(await values.next()?.fraction == 1)
  }
}
