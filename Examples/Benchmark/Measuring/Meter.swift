/// A meter that measures the contestants of a workload in several rounds. Each measurement takes place in a separate process.
struct Meter: Sendable {
  let samples: Int
  /// The number of units; `nil` to use the number that each workload specifies.
  let units: Int?
  /// A closure that runs a contestant with additional environment variables and returns its costs. Tests replace it with a closure
  /// that does not start a process.
  var execute: @Sendable (Execution, _ environment: [String: String]) async throws -> [Double] = {
    execution, environment in
    try execution.costsInChild(environment)
  }

  func units(of workload: Workload) -> Int {
    units ?? workload.units
  }

  /// Measures each contestant once in every round; each round begins with a different contestant.
  ///
  /// - Throws: Any error thrown by a contestant, or by the server that the workload needs.
  func measure(_ workload: Workload) async throws -> Measurement {
    guard workload.needsServer else { return try await measureRounds(workload) }
    return try await HTTPServer.whileRunning(mebibytes: units(of: workload)) { server in
      try await measureRounds(workload, server)
    }
  }

  private func measureRounds(_ workload: Workload, _ server: HTTPServer? = nil) async throws -> Measurement {
    let contestants = workload.contestants
    var costs = contestants.map { _ in [Double]() }
    // Memory is counted rather than timed, so it does not need many rounds.
    for round in 0..<(workload.countsBytes ? min(samples, 2) : samples) {
      for index in contestants.indices {
        let turn = (index + round) % contestants.count
        costs[turn].append(try await cost(of: contestants[turn], in: workload, server))
      }
    }
    return Measurement(
      workload: workload, units: units(of: workload), server: server?.name,
      results: zip(contestants, costs).map { .init(contestant: $0.role, sample: Sample($1)) })
  }

  private func cost(of contestant: Contestant, in workload: Workload, _ server: HTTPServer?) async throws -> Double {
    let execution = Execution(
      workload: workload.id, contestant: "\(contestant.role)", units: units(of: workload),
      times: workload.executions)
    let costs = try await execute(execution, contestant.environment.merging(server?.environment ?? [:]) { $1 })
    return costs.count == 1 ? costs[0] : Sample(Array(costs.dropFirst())).median
  }
}

/// The measurements of one workload.
struct Measurement: Sendable {
  struct Result: Sendable {
    let contestant: Contestant.Role
    let sample: Sample
  }

  let workload: Workload
  let units: Int
  /// The name of the server that responded; `nil` if the workload needs no server.
  var server: String?
  private(set) var results: [Result]

  subscript(role: Contestant.Role) -> Sample? {
    results.first { $0.contestant == role }?.sample
  }

  var title: String {
    workload.title(units: units) + (server.map { ", from \($0)" } ?? "")
  }

  /// Adds further measurements of the same workload, for some or all of its contestants.
  mutating func append(_ further: Measurement) {
    results = results.map { result in
      guard let sample = further[result.contestant] else { return result }
      return Result(contestant: result.contestant, sample: Sample(result.sample.values + sample.values))
    }
  }
}
