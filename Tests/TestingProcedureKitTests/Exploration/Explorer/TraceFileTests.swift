import Foundation
import TestSupport
import Testing

@testable import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct TraceFileTests {
  private static let failing: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    await withTaskGroup(of: Void.self) { group in
      for name in ["first", "second"] {
        group.addTask(name: name) {
          env.note("\"\(name)\" is here")
          await Task.yield()
        }
      }
    }
    env.check(false, "always")
  }

  private func failure() async throws -> ExplorationFailure {
    try await requireError(ExplorationFailure.self) { try await exploreSchedules(10, seed: 3, Self.failing) }
  }

  @Test("The JSON of a failure contains everything in the report")
  func json() async throws {
    let failure = try await failure()
    let object = try #require(try JSONSerialization.jsonObject(with: Data(failure.json.utf8)) as? [String: Any])
    #expect(object["seed"] as? Int == 3 && object["schedule"] as? Int == 0 && object["failsAgain"] as? Bool == true)
    #expect(object["replay"] as? String == failure.replay)
    #expect(object["order"] as? [Int] == failure.order)
    #expect((object["problems"] as? [String])?.first?.hasPrefix("expectation failed: always") == true)
    #expect((object["notes"] as? [String])?.sorted() == ["\"first\" is here", "\"second\" is here"])
    #expect((object["trace"] as? [[String: Any]])?.count == failure.trace?.stretches.count)
  }

  @Test("The trace for Perfetto has a lane for each task, a slice for each stretch, and an arrow for each wake")
  func perfetto() async throws {
    let trace = try #require(try await failure().trace)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(trace.perfetto.utf8)) as? [String: Any])
    let events = try #require(object["traceEvents"] as? [[String: Any]])
    func all(_ phase: String) -> [[String: Any]] { events.filter { $0["ph"] as? String == phase } }
    let lanes = all("M").filter { $0["name"] as? String == "thread_name" }
    #expect(Set(lanes.compactMap { $0["tid"] as? Int }) == Set(trace.stretches.map(\.task)))
    #expect(all("X").compactMap { $0["ts"] as? Int } == trace.stretches.map(\.steps.lowerBound))
    #expect(all("X").compactMap { $0["dur"] as? Int } == trace.stretches.map(\.steps.count))
    let (starts, ends) = (all("s"), all("f"))
    #expect(!starts.isEmpty && starts.count == ends.count)
    for (start, end) in zip(starts, ends) {
      #expect(start["id"] as? Int == end["id"] as? Int)
      #expect(try #require(start["ts"] as? Int) < #require(end["ts"] as? Int))
      let slice = trace.stretches.first { $0.task == end["tid"] as? Int && $0.steps.contains(end["ts"] as? Int ?? 0) }
      #expect(slice != nil, "an arrow ends where no task runs")
    }
  }

  @Test("The files are written to the given directory, and the report names them")
  func files() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "traces-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    var failure = try await failure()
    let page = failure.html
    failure.writeFiles(to: directory.path())
    #expect(failure.files.count == 3)
    #expect(try String(contentsOfFile: failure.files[0], encoding: .utf8) == page)
    #expect(try String(contentsOfFile: failure.files[1], encoding: .utf8) == failure.json)
    #expect(try String(contentsOfFile: failure.files[2], encoding: .utf8) == failure.trace?.perfetto)
    #expect("\(failure)".contains("file: \(failure.files[2])"))
    failure.writeFiles(to: directory.path() + "/missing")
    #expect(failure.files.isEmpty)
  }
}
