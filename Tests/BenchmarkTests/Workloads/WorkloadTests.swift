import LoopbackServer
import Testing

@testable import Benchmark

/// One after another: the bodies of all contestants are counted in one place.
@Suite(.serialized, .timeLimit(.minutes(10))) struct WorkloadTests {
  static let timed = Workload.all.filter { !$0.countsBytes }

  @Test("Every contestant executes each of its bodies once, and comes to what it should", arguments: timed)
  func contestants(_ workload: Workload) async throws {
    let server = try LoopbackServer(keepsConnections: true, handler: HTTPServer.response)
    defer { server.stop() }
    try await HTTPWork.$server.withValue(server.url("/")) {
      for contestant in workload.contestants {
        // A program that some machines do not have.
        if workload.needsServer, case .bare = contestant.role, !HTTPWork.hasCurl { continue }
        for units in [1, 2, 3, 10, 100, 301] {
          let trial = try #require(contestant.trial(units: units))
          let count = try await Tally.counting { _ = try await trial.run() }
          #expect(count == trial.units, "\(workload.id), \(contestant.role), \(units)")
          #expect(trial.units <= units)
        }
      }
    }
  }

  @Test("What waits is not executed before it is let go, and then all of it is", arguments: Store.allCases)
  func stores(_ store: Store) async {
    let count = await Tally.counting {
      let content = store.fill(100)
      await content.empty()
    }
    #expect(count == 100)
  }

  @Test("A wrong result is noticed")
  func wrongResult() async {
    let trial = Trial(units: 1, expecting: 2) { 3 }
    await #expect(throws: Trial.WrongResult.self) { try await trial.run() }
  }

  @Test("All are measured in every round, and the first round is not counted")
  func rounds() async throws {
    let meter = Meter(samples: 3, units: 2)
    let workload = Workload("W0", "nothing", units: 9, FlatWork.contestants)
    var measurement: Measurement?
    let count = try await Tally.counting { measurement = try await meter.measure(workload) }
    #expect(count == 4 * 2 * FlatWork.contestants.count)
    #expect(measurement?.results.map(\.contestant) == FlatWork.contestants.map(\.role))
    #expect(measurement?.results.allSatisfy { $0.sample.values.count == 3 } == true)
  }

  @Test("Of a workload that grows, a hundredth is measured beside the whole")
  func growth() throws {
    let growth = try #require(Workload.all.first { $0.id == "P9 W4" })
    #expect(growth.contestants.map { $0.trial(units: 10_000)?.units } == [100, 10_000])
  }
}

extension Workload: CustomTestStringConvertible {
  var testDescription: String { id }
}
