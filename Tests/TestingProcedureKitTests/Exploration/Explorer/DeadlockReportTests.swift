import Foundation
import Synchronization
import TestSupport
import Testing

@testable import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct DeadlockReportTests {
  /// A body in which two tasks wait for each other, and a third one has ended.
  private static let crossed: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let (questions, ask) = AsyncStream.makeStream(of: Int.self)
    let (answers, answer) = AsyncStream.makeStream(of: Int.self)
    await withTaskGroup(of: Void.self) { group in
      group.addTask(name: "reader") {
        env.note("waits for a question")
        for await question in questions { answer.yield(question) }
      }
      group.addTask {
        for await _ in answers { ask.yield(1) }
      }
      group.addTask(name: "visitor") { await Task.yield() }
    }
  }

  @Test(
    "A deadlock report names the tasks that have not ended, and the last event of each",
    .enabled(if: TaskStatus.isKnown))
  func stuck() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(1_000, Self.crossed)
    }
    let deadlock = try #require(failure.deadlock)
    #expect(deadlock.stuck.map(\.task) == [0, 1, 2], "\(failure)")
    let reader = try #require(deadlock.stuck.first { $0.title.contains("reader") }, "\(failure)")
    #expect(reader.starter == "0 (body)" && reader.firstStep > 0 && reader.lastStep > reader.firstStep)
    #expect(reader.lastEvent == "note: waits for a question")
    #expect("\(failure.problems)".contains("stuck: task 1 \"reader\", started by 0 (body) at step "), "\(failure)")
    let beginning = "There is an order of your tasks in which no task can continue, without a switch:"
    #expect(failure.reportWithoutSteps.hasPrefix(beginning))
    let again = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(strategy: .replay(failure.replay), Self.crossed)
    }
    #expect(again.deadlock?.stuck == deadlock.stuck)
  }

  @Test("A deadlock report names the probe whose executions are waiting for an instruction")
  func probe() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(1) { env in
        let (probe, idle) = (ProbeProcedure("upload"), ProbeProcedure("idle"))
        let handle = env.makeQueue().add(probe)
        env.check(idle.startCount == 0)
        try await handle.value
      }
    }
    #expect(
      "\(failure.problems)".contains("probe \"upload\": 1 execution is waiting for the test to call finish or fail"),
      "\(failure)")
    #expect(!"\(failure.problems)".contains("probe \"idle\""), "\(failure)")
  }

  @Test("Tasks of every kind are recognized as ended", .enabled(if: TaskStatus.isKnown))
  func kinds() async throws {
    actor Place { func visit() async { await Task.yield() } }
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(20) { _ in
        let place = Place()
        async let child: Void = place.visit()
        async let onMain: Void = MainActor.run {}
        _ = await (child, onMain)
        await Task { await place.visit() }.value
        await Task { @MainActor in await place.visit() }.value
        await Task.detached { await place.visit() }.value
        await Task(name: "never") {
          await Task.yield()
          // Invariant: the continuation is never resumed, which causes the deadlock.
          await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }.value
      }
    }
    #expect(failure.deadlock?.stuck.count == 2, "\(failure)")
    #expect(failure.deadlock?.stuck.first?.task == 0, "\(failure)")
  }

  @Test("A step that hangs is reported, for each reason", arguments: [false, true])
  func hanging(inLoop: Bool) async throws {
    let isOver = Locked(false)
    let never = DispatchSemaphore(value: 0)
    var explorer = ScheduleExplorer(schedules: 10)
    // The earlier steps must end within this time even on a busy machine.
    explorer.stepTimeout = .seconds(2)
    let failure = try await requireError(ExplorationFailure.self) {
      try await explorer.explore { _ in
        async let child: Void = {
          await Task.yield()
          if inLoop { Self.spin(until: isOver) } else { Self.block(on: never) }
        }()
        await child
      }
    }
    isOver { $0 = true }
    never.signal()
    #expect("\(failure.problems)".contains("did not end: task 1 is waiting"), "\(failure)")
  }

  /// Executes a loop without an end that leaves the processor to other tests.
  private static func spin(until isOver: Locked<Bool>) {
    while !isOver.value { sched_yield() }
  }

  private static func block(on semaphore: DispatchSemaphore) { semaphore.wait() }
}
