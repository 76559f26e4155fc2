import ProcedureKit
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Functions in place of procedures", .timeLimit(.atDepth))
struct ClosureTests {
  @Test("run and add call a function like a procedure of the same name")
  func runAndAdd() async throws {
    let queue = ProcedureQueue("q")
    #expect(try await queue.run("name") { ProcedureContext.current?.name } == "name")
    #expect(try await queue.run { 1 } == 1)
    let handle = queue.add("name") { ProcedureContext.current?.name }
    #expect(handle.name == "name")
    #expect(try await handle.value == "name")
    let failing = queue.add("failing") { throw TestError(code: 1) }
    await #expect(throws: TestError(code: 1)) { try await failing.value }
    await #expect(throws: TestError(code: 2)) { try await queue.run("failing") { throw TestError(code: 2) } }
  }

  @Test("A function receives the values of other procedures, and starts after one or several dependencies")
  func dependencies() async throws {
    let queue = ProcedureQueue("q", isSuspended: true)
    let order = Record<String>()
    let one = queue.add("one") {
      order.append("one")
      return 1
    }
    let two = queue.add("two", after: one) {
      order.append("two")
      return "2"
    }
    let both = queue.add("both", from: one, two) { one, two in "\(one)\(two)" }
    let all = queue.add("all", from: [one, one], after: two) { values in values.reduce(0, +) }
    let last = queue.add("last", from: both, after: [one, all]) { both in both + "!" }
    let end = queue.add("end", after: [one, last]) { order.append("end") }
    #expect(end.state == .pending)
    queue.resume()
    #expect(try await (both.value, all.value, last.value) == ("12", 2, "12!"))
    try await end.value
    #expect(order.values == ["one", "two", "end"])
  }

  @Test("A function whose dependency fails is not called")
  func failedDependency() async {
    let queue = ProcedureQueue("q")
    let calls = Atomic(0)
    let failing = queue.add("failing") { () throws -> Int in throw TestError(code: 1) }
    let dependent = queue.add("dependent", from: failing) { _ in calls.add(1, ordering: .relaxed) }
    #expect(await dependent.outcome.isFailed)
    #expect(calls.load(ordering: .relaxed) == 0)
  }

  @Test("map calls a function for each element, with the name and the limit of the call")
  func elements() async throws {
    let queue = ProcedureQueue("q")
    #expect(try await queue.map(0..<5) { number in number * 2 } == [0, 2, 4, 6, 8])
    let names = try await queue.map("double", [1, 2], maxConcurrentElements: 1) { _ in
      ProcedureContext.current?.name ?? ""
    }
    #expect(names == ["double[0]", "double[1]"])
  }

  @Test("results calls a function for each element of a sequence and of an asynchronous sequence")
  func streams() async throws {
    let queue = ProcedureQueue("q")
    var sum = 0
    for try await value in queue.results(over: 1...4, maxConcurrentElements: 2, operation: { $0 * 10 }) { sum += value }
    let stream = AsyncStream<Int> { continuation in
      for number in 1...4 { continuation.yield(number) }
      continuation.finish()
    }
    for try await value in queue.results("named", over: stream, maxConcurrentElements: 2, operation: { $0 }) {
      sum += value
    }
    #expect(sum == 110)
  }

  @Test("Cancelling the caller of run cancels the function")
  func cancelled() async {
    let queue = ProcedureQueue("q")
    let started = AsyncStream<Void>.makeStream()
    let caller = Task {
      try await queue.run("waiting") {
        started.continuation.yield()
        await untilCancelled()
      }
    }
    for await _ in started.stream { break }
    caller.cancel()
    await #expect(throws: CancellationError.self) { try await caller.value }
  }
}
