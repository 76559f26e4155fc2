import ProcedureKit
import TestSupport
import Testing

@Suite(.timeLimit(.atDepth)) struct DependencyTests {
  @Test("A dependency that fails stops its dependents, direct and indirect, whose errors name it")
  func failure() async throws {
    let queue = ProcedureQueue("q")
    let ran = Box(0)
    let first = queue.add(ProcedureTask<Void, Int>("first") { throw TestError(code: 3) })
    let second = queue.add(
      ProcedureTask("second") { (x: Int) in
        ran.update { $0 += 1 }
        return x
      }, from: first)
    let third = queue.add(ProcedureTask("third") { ran.update { $0 += 1 } }, after: [second])
    let error = try #require(await third.outcome.failure as? ProcedureError)
    #expect(error.kind == .dependencyFailed)
    #expect(error.procedure.name == "third")
    #expect(error.dependency?.name == "second")
    #expect(error.origin?.id == first.id)
    #expect(error.underlying as? TestError == TestError(code: 3))
    #expect("\(error)".contains("\(third.identity) was not executed: it depends on \(second.identity)"))
    #expect("\(error)".contains("which failed because \(first.identity) did: "))
    let nearest = try #require(await second.outcome.failure)
    #expect("\(nearest)".contains("it depends on \(first.identity), which failed: "))
    #expect(ran.value == 0)
  }

  @Test("The values of any number of runs arrive in order, and one that fails stops the dependent")
  func array() async throws {
    let queue = ProcedureQueue("q")
    let release = Signal()
    let runs = (0..<5).map { n in
      queue.add(
        ProcedureTask("\(n)") {
          if n == 0 { await release.wait() }
          return n
        })
    }
    let joined = queue.add(ProcedureTask { (values: [Int]) in values.map { $0 * 10 } }, from: runs)
    for run in runs.dropFirst() { _ = try await run.value }
    #expect(joined.state == .pending)
    release.set()
    #expect(try await joined.value == [0, 10, 20, 30, 40])
    let ofNothing = queue.add(ProcedureTask { (values: [Int]) in values.count }, from: [ProcedureHandle<Int>]())
    #expect(try await ofNothing.value == 0)

    let failing = queue.add(ProcedureTask<Void, Int>("failing") { throw TestError(code: 4) })
    let last = queue.add(ProcedureTask("last") { (values: [Int]) in values.count }, from: runs + [failing])
    let error = try #require(await last.outcome.failure as? ProcedureError)
    #expect(error.kind == .dependencyFailed && error.origin == failing.identity)
    let orphan = queue.add(ProcedureTask { (values: [Int]) in values.count }, from: runs, after: [failing])
    #expect(await orphan.outcome.failure is ProcedureError)
  }

  @Test("A procedure that depends on a `Result` runs regardless of the outcome")
  func result() async throws {
    let queue = ProcedureQueue("q")
    let failing = queue.add(ProcedureTask<Void, Int> { throw TestError(code: 1) })
    let recovery = queue.add(
      ProcedureTask { (r: Result<Int, any Error>) in (try? r.get()) ?? -1 }, from: failing.catchingErrors())
    let cleanup = queue.add(ProcedureTask { "clean" }, after: [failing.catchingErrors()])
    #expect(try await recovery.value == -1)
    #expect(try await cleanup.value == "clean")
    let ignored = queue.add(ProcedureTask { 1 }.condition("closed") { false })
    let inspected = queue.add(
      ProcedureTask { (r: Result<Int, any Error>) in
        if case .failure(let error as ProcedureError) = r { error.kind == .ignored } else { false }
      }, from: ignored.catchingErrors())
    #expect(try await inspected.value)
  }

  @Test("A dependent can have five inputs of five types, and values are not copied deeply")
  func manyInputs() async throws {
    let queue = ProcedureQueue("q")
    let storage = [Int](repeating: 7, count: 1_000)
    let address = storage.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    let handles = (
      queue.add(ProcedureTask { 1 }), queue.add(ProcedureTask { "two" }), queue.add(ProcedureTask { 3.0 }),
      queue.add(ProcedureTask { true }), queue.add(ProcedureTask { storage })
    )
    let all = queue.add(
      ProcedureTask { (a: Int, b: String, c: Double, d: Bool, e: [Int]) in
        "\(a)\(b)\(c)\(d)\(e.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } == address)"
      }, from: handles.0, handles.1, handles.2, handles.3, handles.4)
    #expect(try await all.value == "1two3.0truetrue")
  }

  @Test("A procedure that depends on another one 100,000 times does not overflow the stack")
  func sameDependency() async throws {
    let queue = ProcedureQueue("q", isSuspended: true)
    let first = queue.add("first") {}
    let second = queue.add(ProcedureTask { 1 }, after: Array(repeating: first, count: 100_000))
    queue.resume()
    #expect(try await second.value == 1)
  }

  @Test("A chain of 10,000 dependents does not overflow the stack, whether it succeeds or is stopped")
  func longChains() async throws {
    let queue = ProcedureQueue("q")
    for fails in [false, true] {
      let release = Signal()
      let first = queue.add(
        ProcedureTask {
          await release.wait()
          if fails { throw TestError() }
          return 0
        })
      var last = first
      for _ in 0..<TestDepth.size(100_000) { last = queue.add(ProcedureTask { (x: Int) in x + 1 }, from: last) }
      release.set()
      let outcome = await last.outcome
      if fails {
        let error = try #require(outcome.failure as? ProcedureError)
        #expect(error.kind == .dependencyFailed && error.origin?.id == first.id)
        #expect(error.underlying is TestError)
      } else {
        #expect(outcome.value == TestDepth.size(100_000))
      }
    }
  }

  @Test(
    "`after:` accepts one or several dependencies, in every function that adds to a queue", .timeLimit(.minutes(10))
  )
  func oneOrSeveral() async throws {
    let queue = ProcedureQueue("q")
    let (first, other) = (queue.add(ProcedureTask("first") { 1 }), queue.add(ProcedureTask("other") { "a" }))
    (_, _) = (try await first.value, try await other.value)
    let release = Signal()
    let gate = queue.add(ProcedureTask("gate") { await release.wait() })
    let (none, one) = (ProcedureTask {}, ProcedureTask { (_: Int) in })
    let (two, many) = (ProcedureTask { (_: Int, _: String) in }, ProcedureTask { (_: [Int]) in })
    let added = [
      queue.add(none, after: gate), queue.add(one, input: 1, after: gate), queue.add(one, from: first, after: gate),
      queue.add(two, from: first, other, after: gate), queue.add(many, from: [first], after: gate),
      try await queue.enqueue(none, after: gate), try await queue.enqueue(one, input: 1, after: gate),
      try await queue.enqueue(one, from: first, after: gate),
      try await queue.enqueue(two, from: first, other, after: gate),
      try await queue.enqueue(many, from: [first], after: gate),
      try queue.tryAdd(none, after: gate), try queue.tryAdd(one, input: 1, after: gate),
      queue.add(none, after: gate.catchingErrors()), queue.add(none, after: [first, gate]),
      queue.add(none, after: [gate]),
      try await queue.enqueue(none, after: [first, gate]), try queue.tryAdd(none, after: [first, gate]),
    ]
    let four = ProcedureTask { (values: (Int, String, [Int], String?)) in "\(values)" }
    let (list, nothing) = (queue.add(ProcedureTask { [1, 2] }), queue.add(ProcedureTask { String?.none }))
    let text = "(1, \"a\", [1, 2], nil)"
    #expect(try await queue.add(four, from: first, other, list, nothing, after: other).value == text)
    #expect(try await queue.enqueue(four, from: first, other, list, nothing).value == text)
    #expect(added.map(\.state) == added.map { _ in .pending })
    release.set()
    for run in added { try await run.value }
  }
}

extension ProcedureOutcome {
  var failure: (any Error)? {
    if case .failed(let error) = self { error } else { nil }
  }
}
