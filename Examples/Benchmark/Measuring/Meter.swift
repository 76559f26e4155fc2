/// Measures the contestants of a workload in turn, round by round.
struct Meter: Sendable {
  let samples: Int
  /// Instead of each workload's own number.
  let units: Int?

  func units(of workload: Workload) -> Int {
    units ?? workload.units
  }

  /// Every round measures each contestant once, and begins with another one; the first is not counted.
  ///
  /// - Throws: What a contestant throws.
  func measure(_ workload: Workload) async throws -> Measurement {
    let contestants = workload.contestants
    var costs = contestants.map { _ in [Double]() }
    // Memory is counted and not timed: it needs neither warming up nor many rounds.
    let rounds = workload.countsBytes ? -1..<min(samples - 1, 2) : -1..<samples
    for round in rounds {
      for index in contestants.indices {
        let turn = (index + max(round, 0)) % contestants.count
        let cost = try await contestants[turn].cost(units: units(of: workload))
        if round >= 0 || workload.countsBytes { costs[turn].append(cost) }
      }
    }
    return Measurement(
      workload: workload, units: units(of: workload),
      results: zip(contestants, costs).map { .init(contestant: $0.role, sample: Sample($1)) })
  }
}

/// What was measured of one workload.
struct Measurement: Sendable {
  struct Result: Sendable {
    let contestant: Contestant.Role
    let sample: Sample
  }

  let workload: Workload
  let units: Int
  private(set) var results: [Result]

  subscript(role: Contestant.Role) -> Sample? {
    results.first { $0.contestant == role }?.sample
  }

  /// Adds what was measured of the same workload once more, of as many of its contestants as were.
  mutating func append(_ further: Measurement) {
    results = results.map { result in
      guard let sample = further[result.contestant] else { return result }
      return Result(contestant: result.contestant, sample: Sample(result.sample.values + sample.values))
    }
  }
}
