import Foundation
import TestSupport
import Testing

@testable import TestingProcedureKit

/// Tests that a crash within a schedule leaves a file with the seed, the schedule and the choices.
@Suite(.timeLimit(.minutes(10))) struct CrashReportTests {
  private static let seed: UInt64 = 862_241_907

  /// Explores a body with three children, the last of which has to run first.
  private static func run(_ strategy: ExplorationStrategy, onFailure: @escaping @Sendable () -> Void) async throws {
    try await exploreSchedules(1_000, seed: seed, strategy: strategy) { env in
      let order = Locked("")
      await withTaskGroup(of: Void.self) { group in
        for name in ["a", "b", "c"] {
          group.addTask {
            await Task.yield()
            order { $0 += name }
          }
        }
      }
      if order.value == "cab" {
        onFailure()
        env.check(false, "the order of the crash")
      }
    }
  }

  @Test("After a crash, the string in the file leads to the same order in another process")
  func crash() async throws {
    await #expect(processExitsWith: .failure) {
      try await Self.run(.mixed()) { fatalError("the bug") }
    }
    let directory = Platform.temporaryDirectory
    let files = try FileManager.default.contentsOfDirectory(atPath: directory)
      .filter { $0.hasPrefix("procedurekit-exploration-") }.map { "\(directory)/\($0)" }
    let left = files.compactMap { path in
      (try? String(contentsOfFile: path, encoding: .utf8)).flatMap { text in
        text.contains("(seed \(Self.seed),") ? (path: path, text: text) : nil
      }
    }
    let (path, text) = try #require(left.first, "no file in \(directory)")
    for (path, _) in left { try? FileManager.default.removeItem(atPath: path) }
    let line = try #require(text.split(separator: "\n").last, "\(path)")
    let replay = line.trimmingCharacters(in: .whitespaces)
    let failure = try await requireError(ExplorationFailure.self, "\(text)") {
      try await Self.run(.replay(replay)) {}
    }
    #expect("\(failure.problems)".contains("the order of the crash"))
  }
}
