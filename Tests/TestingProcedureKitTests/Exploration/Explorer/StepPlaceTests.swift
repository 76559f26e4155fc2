import ProcedureKit
import TestSupport
import Testing

@testable import TestingProcedureKit

/// Tests the parts of a report that say where in the code the tasks are.
@Suite("The places of steps", .enabled(if: ResumePoint.isKnown), .timeLimit(.minutes(10)))
struct StepPlaceTests {
  actor Register {
    private(set) var value = 0

    func set(_ value: Int) async {
      self.value = value
      await Task.yield()
      settings += 1
    }

    private var settings = 0
  }

  private static func increment(_ register: Register) async {
    let old = await register.value
    await register.set(old + 1)
  }
  private static let lines = (reading: #line - 3, setting: #line - 2, yielding: #line - 11)

  private static let lostUpdate: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let (register, other) = (Register(), Register())
    async let first: Void = increment(register)
    async let second: Void = increment(register)
    _ = await (first, second)
    await increment(other)
    env.check(await register.value == 2, "an update is lost")
  }
  private static let creation = #line - 6

  private func trace(
    _ body: @escaping @Sendable (ExplorationEnvironment) async throws -> Void
  ) async throws -> ScheduleTrace {
    let failure = try await requireError(ExplorationFailure.self) { try await exploreSchedules(1_000, body) }
    return try #require(failure.trace)
  }

  @Test("A step has the function, the file and the line at which the task was resumed, and the actor")
  func resumed() async throws {
    let trace = try await trace(Self.lostUpdate)
    let steps = trace.stretches.filter { $0.task > 0 }
    for (line, function) in [
      (Self.lines.reading, "increment(_:)"), (Self.lines.setting, "increment(_:)"), (Self.lines.yielding, "set(_:)"),
    ] {
      let place = steps.lazy.compactMap(\.place).first { $0.line == line }
      #expect(place?.file == #filePath && place?.function.hasSuffix(function) == true, "line \(line)\n\(trace)")
      #expect("\(trace)".contains("StepPlaceTests.swift:\(line) "), "\(trace)")
    }
    #expect(steps.contains { $0.actor == "Register 1" && $0.place?.line == Self.lines.reading }, "\(trace)")
    #expect(trace.stretches.contains { $0.task == 0 && $0.actor == "Register 2" }, "\(trace)")
    #expect(steps.contains { $0.actor == nil }, "\(trace)")
  }

  @Test("The first step of a task has the place at which the task was created, and so has the event of its creator")
  func created() async throws {
    let trace = try await trace(Self.lostUpdate)
    let first = try #require(trace.stretches.first { $0.task == 1 })
    #expect(first.place?.line == Self.creation && first.place?.file == #filePath, "\(trace)")
    let events = trace.stretches.filter { $0.task == 0 }.flatMap(\.events)
    #expect(events.contains("starts task 1 (StepPlaceTests.swift:\(Self.creation))"), "\(trace)")
  }

  @Test("A task that is preempted in the middle of a step continues at the line of the call that woke the other task")
  func preempted() async throws {
    let line = Locked(0)
    let trace = try await trace { env in
      let (values, continuation) = AsyncStream.makeStream(of: Int.self)
      let isReady = Locked(false)
      async let reader: Void = {
        for await _ in values { env.check(isReady.value, "read before the value was ready") }
      }()
      await Task.yield()
      line { $0 = #line + 1 }
      continuation.yield(1)
      isReady { $0 = true }
      continuation.finish()
      await reader
    }
    #expect(trace.stretches { $0.task == 0 }.contains { $0.place?.line == line.value }, "\(trace)")
  }

  @Test("The steps of a procedure have its name, on any queue that the test creates")
  func procedures() async throws {
    let trace = try await trace { env in
      let register = Register()
      let queue = ProcedureQueue("registers")
      let handle = queue.add(ProcedureTask("the \"writer\"") { await register.set(1) })
      try await handle.value
      env.check(false, "always")
    }
    // The places of the library's own steps are not looked up, because that takes long.
    let steps = trace.stretches { $0.procedure == "the \"writer\"" }
    #expect(steps.contains { $0.actor == "Register" && $0.place?.line == Self.lines.yielding + 1 }, "\(trace)")
    let events = trace.stretches { $0.events.contains { $0.hasSuffix("the \"writer\"\"") } }.flatMap(\.events)
    let (begin, end) = (
      events.firstIndex(of: "begins \"the \"writer\"\""), events.firstIndex(of: "ends \"the \"writer\"\"")
    )
    #expect(try #require(begin) < #require(end), "\(trace)")
  }

  @Test("Names of symbols lose the parts that do not occur in code")
  func names() {
    for (symbol, function) in [
      ("Box.add(_:)", "Box.add(_:)"), ("implicit closure #1 in Box.add(_:)", "Box.add(_:)"),
      ("closure #1 in implicit closure #2 in Box.add(_:)", "closure #1 in Box.add(_:)"),
      ("closure #1 in variable initialization expression of static Box.body", "closure #1 in Box.body"),
      ("partial apply for closure #3 in ", "closure #3"),
    ] {
      let place = SourcePlace(function: symbol, file: "/a b/Box.swift", line: 7)
      #expect(place.function == function && "\(place)" == "\(function) Box.swift:7")
    }
  }
}

#if os(Linux) && compiler(>=6.3) && compiler(<6.4)
  @Test("The places of steps are known on this system")
  func placesAreKnown() {
    #expect(ResumePoint.isKnown)
  }
#endif
