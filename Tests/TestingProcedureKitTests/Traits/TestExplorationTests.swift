import Foundation
import ProcedureKit
import TestSupport
import Testing

@testable import TestingProcedureKit

@Suite("The corpus and the settings of explored tests", .timeLimit(.minutes(10)))
struct TestExplorationTests {
  /// Calls `body` with the path of a file that does not exist yet, and deletes the file.
  private func withFile<R>(_ body: (String) async throws -> R) async rethrows -> R {
    let url = FileManager.default.temporaryDirectory.appending(component: "corpus-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    return try await body(url.path)
  }

  private func exploration(_ explorer: ScheduleExplorer, _ environment: [String: String]) throws -> TestExploration {
    TestExploration(
      key: "Module.test()", location: #_sourceLocation, explorer: explorer,
      settings: try ExplorationSettings(environment: environment))
  }

  @Test("A failing seed is stored, and is tried first in later runs")
  func corpus() async throws {
    try await withFile { path in
      let failing = try exploration(ScheduleExplorer(schedules: 50, seed: 7), ["PROCEDUREKIT_CORPUS": path])
      for _ in 0..<2 {
        await expectError(ExplorationFailure.self) {
          try await failing.run {
            let env = ExplorationEnvironment.current
            env?.check(env?.schedule != 3)
          }
        }
      }
      #expect(try TestProcess.text(ofFile: path) == "7 4 \(failing.key)\n")
      let later = try exploration(ScheduleExplorer(schedules: 10, seed: 1), ["PROCEDUREKIT_CORPUS": path])
      let schedules = Locked<[Int]>([])
      try await later.run {
        schedules { $0.append(ExplorationEnvironment.current?.schedule ?? -1) }
      }
      #expect(schedules.value == Array(0..<4) + Array(0..<10))
    }
  }

  @Test("A replay string in the environment repeats the schedule in another process")
  func replay() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploration(ScheduleExplorer(), [:]).run(Self.notifyBeforeChange)
    }
    await #expect(processExitsWith: .success) { [replay = failure.replay as String, order = failure.order as [Int]] in
      setenv("PROCEDUREKIT_REPLAY", replay, 1)
      let again = await expectError(ExplorationFailure.self) {
        try await TestExploration(
          key: "Module.test()", location: #_sourceLocation, explorer: ScheduleExplorer(seed: 1),
          settings: try ExplorationSettings(environment: TestProcess.environment)
        ).run(Self.notifyBeforeChange)
      }
      #expect(again?.order == order && again?.replay == replay)
    }
  }

  @Sendable private static func notifyBeforeChange() async throws {
    try await TestingYourProcedures.notifyBeforeChange(#require(ExplorationEnvironment.current))
  }

  @Test("The explorer keeps no reference to the function, even if its own task ends late")
  func revoked() async throws {
    for _ in 0..<20 { try await exploration(ScheduleExplorer(schedules: 1), [:]).run {} }
  }

  @Test("Entries of other tests are not changed, and a line in another format is an error")
  func format() async throws {
    try await withFile { path in
      let corpus = ExplorationCorpus(path: path)
      #expect(try corpus.entries(of: "A/B.swift c()").isEmpty)
      try corpus.insert(.init(seed: 1, schedules: 2), for: "A/B.swift c()")
      try corpus.insert(.init(seed: 3, schedules: 4), for: "A/B.swift d()")
      #expect(try corpus.entries(of: "A/B.swift d()") == [.init(seed: 3, schedules: 4)])
      try TestProcess.append("\nseed\n", toFile: path)
      let error = #expect(throws: ExplorationCorpus.FormatError.self) { try corpus.entries(of: "A/B.swift c()") }
      #expect(error?.line == 4)
    }
  }

  @Test("The environment changes the seed, the budget and the strategy")
  func settings() throws {
    func applied(_ environment: [String: String]) throws -> ScheduleExplorer {
      try ExplorationSettings(environment: environment).applied(to: ScheduleExplorer(schedules: 5, seed: 1))
    }
    #expect(try applied(["PROCEDUREKIT_SEED": "9", "PROCEDUREKIT_SCHEDULES": ""]).seed == 9)
    #expect(try applied(["PROCEDUREKIT_SCHEDULES": "70"]).schedules == 70)
    let timed = try applied(["PROCEDUREKIT_SECONDS": "1.5"])
    #expect(timed.duration == .seconds(1.5) && timed.schedules == .max)
    let replay = try applied(["PROCEDUREKIT_REPLAY": "pk2:0:1", "PROCEDUREKIT_SEED": "9"])
    #expect(replay.strategy == .replay("pk2:0:1"))
    #expect(try applied(["PROCEDUREKIT_SEED": "random"]).seed != applied(["PROCEDUREKIT_SEED": "random"]).seed)
  }

  @Test(
    "A malformed value is an error that names the variable",
    arguments: [("SEED", "x"), ("SEED", "-1"), ("SCHEDULES", "0"), ("SCHEDULES", "1.5"), ("SECONDS", "-2")])
  func malformed(name: String, value: String) throws {
    let name = "PROCEDUREKIT_\(name)"
    let error = #expect(throws: ExplorationSettings.Malformed.self) {
      try ExplorationSettings(environment: [name: value])
    }
    #expect(error?.description.hasPrefix("\(name) is \"\(value)\"") == true)
  }
}
