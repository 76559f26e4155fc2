import Foundation
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

/// Executes random programs (`RandomProgram`), and checks what holds for every program.
///
/// - Everything ends, even if procedures wait for each other.
/// - No more bodies execute than the queue has slots, and no more resources are in use than there are. Only leaves, which are bodies that
///   never wait for other procedures, are counted.
/// - Each added procedure ends once, with an outcome for which the program has a cause.
/// - In the end, the queues and the table of resources are empty, each queue executes as many procedures at a time as its width, and
///   no procedure is retained.
///
/// The programs are executed on real threads, with the system's clock, because the explored tests of `TestingProcedureKit` never execute
/// two parts of the library at the same time. A seed therefore determines a program, but not the order of its steps. `PROCEDUREKIT_SEED=12
/// swift test --filter randomPrograms` executes the program of one seed many times, and `PROCEDUREKIT_SEED=random` executes other programs
/// in each run.
extension StressTests {
  /// The time after which a program counts as hanging. A program takes milliseconds on an idle machine.
  private static let longestProgram = Duration.seconds(60)

  @Test("Random programs end, respect all limits, and leave nothing behind")
  func randomPrograms() async throws {
    let setting = ProcessInfo.processInfo.environment["PROCEDUREKIT_SEED"] ?? ""
    let repeated = Int(setting)
    let first = setting == "random" ? Int.random(in: 0..<1 << 62) : 0
    let seeds = first..<(first + TestDepth.count(30_000))
    let (complaints, reporter) = AsyncStream.makeStream(of: String.self)
    // These tasks are not awaited, because a program that hangs would otherwise hang the test.
    let lanes = (0..<4).map { _ in ProgramLane() }
    let tasks = zip(0..., lanes).map { number, lane in
      Task {
        for seed in stride(from: seeds.lowerBound + number, to: seeds.upperBound, by: lanes.count) {
          if Task.isCancelled { break }
          let program = RandomProgram(seed: UInt64(repeated ?? seed))
          for complaint in await lane.execute(program) { reporter.yield(complaint) }
        }
      }
    }
    let watchdog = Task {
      while (try? await Task.sleep(for: .seconds(1))) != nil {
        guard let report = lanes.lazy.compactMap({ $0.report(after: Self.longestProgram) }).first else { continue }
        reporter.yield("this program has not ended: \(report)")
        reporter.finish()
      }
    }
    Task {
      for task in tasks { await task.value }
      reporter.finish()
    }
    var count = 0
    for await complaint in complaints {
      Issue.record(Comment(rawValue: complaint))
      count += 1
      if count == 5 { break }
    }
    for task in tasks { task.cancel() }
    watchdog.cancel()
  }
}

/// A sequence of programs that are executed one after another.
private final class ProgramLane: Sendable {
  private let current = Mutex<(run: RandomProgramRun, start: ContinuousClock.Instant)?>(nil)

  /// Executes a program to its end, and returns what is wrong.
  func execute(_ program: RandomProgram) async -> [String] {
    let run = RandomProgramRun(program)
    current.withLock { $0 = (run, .now) }
    defer { current.withLock { $0 = nil } }
    return await run.execute().map { "\($0)\n\(program)" }
  }

  /// Returns a description of the current program if it started too long ago.
  func report(after time: Duration) -> String? {
    current.withLock { $0 }.flatMap { .now - $0.start > time ? $0.run.report : nil }
  }
}
