import LoopbackServer
import Synchronization
import TestSupport
import Testing

@testable import Benchmark

/// The tests run one after another, because the bodies of all contestants are counted in one place.
@Suite(.serialized, .timeLimit(.minutes(10))) struct WorkloadTests {
  static let timed = Workload.all.filter { !$0.countsBytes }

  @Test("Every contestant executes each of its bodies once, and has the expected result", arguments: timed)
  func contestants(_ workload: Workload) async throws {
    let server = try LoopbackServer(keepsConnections: true, handler: HTTPServer.response)
    defer { server.stop() }
    try await HTTPWork.$server.withValue(server.url("/")) {
      for contestant in workload.contestants {
        // Some machines do not have this program.
        if workload.needsServer, case .bare = contestant.role, !HTTPWork.hasCurl { continue }
        for units in TestDepth.isAtLeastGate ? [1, 3, 10, 101] : [1, 10] {
          let trial = try #require(try contestant.trial(units: units))
          let count = try await Tally.counting { _ = try await trial.run() }
          #expect(count == trial.units, "\(workload.id), \(contestant.role), \(units)")
          #expect(trial.units <= units)
        }
      }
    }
  }

  @Test("Waiting bodies do not execute before they are released, and then all of them do", arguments: Store.allCases)
  func stores(_ store: Store) async throws {
    let count = try await Tally.counting {
      let content = try await store.fill(100)
      await content.empty()
    }
    #expect(count == 100)
  }

  @Test("A wrong result is detected")
  func wrongResult() async {
    let trial = Trial(units: 1, expecting: 2) { 3 }
    await #expect(throws: Trial.WrongResult.self) { try await trial.run() }
  }

  @Test(
    "All contestants are measured in every round, each round starts with a different one, and the warm-up is not counted"
  )
  func rounds() async throws {
    let order = Mutex<[String]>([])
    let meter = Meter(samples: 2, units: 3) { execution, _ in
      order.withLock { $0.append(execution.contestant) }
      return [1_000] + [Double](repeating: Double(execution.units), count: execution.times - 1)
    }
    let workload = Workload("W0", "nothing", units: 9, Array(FlatWork.contestants.prefix(3)))
    let measurement = try await meter.measure(workload)
    #expect(order.withLock(\.self) == ["floor", "OperationQueue", "Dispatch", "OperationQueue", "Dispatch", "floor"])
    #expect(measurement.results.map(\.contestant) == [.floor, .operationQueue, .dispatch])
    #expect(measurement.results.map(\.sample) == [Sample([3, 3]), Sample([3, 3]), Sample([3, 3])])
  }

  @Test("Memory is measured once in each process, with one arena")
  func memory() async throws {
    let meter = Meter(samples: 9, units: 1) { execution, environment in
      #expect(execution.times == 1)
      return [environment["MALLOC_ARENA_MAX"] == "1" ? 1 : 0]
    }
    let measurement = try await meter.measure(Workload("W0", "bytes", units: 1, executions: 1, Store.contestants))
    #expect(measurement.results.allSatisfy { $0.sample == Sample([1, 1]) })
  }

  @Test("A contestant can be executed again", arguments: timed)
  func again(_ workload: Workload) async throws {
    guard !workload.needsServer else { return }
    for contestant in workload.contestants {
      let execution = Execution(workload: workload.id, contestant: "\(contestant.role)", units: 10, times: 2)
      let count = try await Tally.counting { _ = try await execution.costs() }
      let units = try #require(try contestant.trial(units: 10)).units
      #expect(count == 2 * units, "\(workload.id), \(contestant.role)")
    }
  }

  @Test("For a growing workload, a hundredth of it is measured in addition to the whole")
  func growth() throws {
    let growth = try #require(Workload.all.first { $0.id == "P9 W4" })
    #expect(try growth.contestants.map { try $0.trial(units: 10_000)?.units } == [100, 10_000])
  }
}

extension Workload: CustomTestStringConvertible {
  var testDescription: String { id }
}
