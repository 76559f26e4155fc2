/// Measures the contestants of a workload in turn, round by round.
struct Meter: Sendable {
  let samples: Int
  /// The number of units; `nil` for each workload's own number.
  let units: Int?

  func units(of workload: Workload) -> Int {
    units ?? workload.units
  }

  /// Measures each contestant once in every round; each round begins with another contestant, and the first round is not counted.
  ///
  /// - Throws: The error of a contestant, or of the server that the workload needs.
  func measure(_ workload: Workload) async throws -> Measurement {
    guard workload.needsServer else { return try await measureRounds(workload) }
    return try await HTTPServer.whileRunning(mebibytes: units(of: workload)) { server in
      try await HTTPWork.$server.withValue(server.url) { try await measureRounds(workload, server: server.name) }
    }
  }

  private func measureRounds(_ workload: Workload, server: String? = nil) async throws -> Measurement {
    let contestants = workload.contestants
    var costs = contestants.map { _ in [Double]() }
    // Memory is counted and not timed, so it needs neither a warm-up nor many rounds.
    let rounds = workload.countsBytes ? -1..<min(samples - 1, 2) : -1..<samples
    for round in rounds {
      for index in contestants.indices {
        let turn = (index + max(round, 0)) % contestants.count
        let cost = try await contestants[turn].cost(units: units(of: workload))
        if round >= 0 || workload.countsBytes { costs[turn].append(cost) }
      }
    }
    return Measurement(
      workload: workload, units: units(of: workload), server: server,
      results: zip(contestants, costs).map { .init(contestant: $0.role, sample: Sample($1)) })
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
  /// The name of the server that answered; `nil` if the workload needs none.
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
