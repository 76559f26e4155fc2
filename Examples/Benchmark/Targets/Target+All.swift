extension Target {
  static let all = [
    // Leaving the caller's actor, an object and its binding, which is the least of all, take 0.17 to 0.19 of a floor of a
    // microsecond.
    Target(
      "P1", "run, one after another in one task: at most 0.15 of the floor, or else twice the bare mechanism",
      atMost: 0.15, orTimesBare: 2, ("W1", "run")),
    Target("P2", "add, every handle awaited: 0.30", atMost: 0.30, ("W1", "add")),
    Target("P3", "add to a queue of width 2 and of width 8: 0.30", atMost: 0.30, ("W2", "add"), ("W2/8", "add")),
    Target("P4", "a chain as a graph that is built already: 0.06", atMost: 0.06, ("W3", "run")),
    Target("P5", "layers, the same: 0.10", atMost: 0.10, ("W4", "run")),
    Target("P6", "a tree, the same: 0.30", atMost: 0.30, ("W5", "run")),
    Target(
      "P7", "a graph that has to be built: 0.30", atMost: 0.30, ("W3", "build and run"), ("W4", "build and run")),
    Target("P8", "bodies that exclude each other: 0.50", atMost: 0.50, ("W6", "add")),
    Target("P9", "a million: at most 1.5 times as much for each as ten thousand", growth),
    Target(
      "P10", "memory of what waits: at most 300 bytes each, and all given back",
      [
        memory("add", atMost: 300),
        // Within what the process needs besides: a tenth of that.
        memory("add once more", atMost: 30),
      ]),
    Target(
      "P11", "events observed: at most four times as much as unobserved", atMost: 4, of: .procedureKit("add"),
      ("W1", "add, observed")),
    Target("P12", "bodies that sleep: within 5 % of the sleeping", atMost: 1.05, ("P12", "add")),
    Target(
      "P13", "a timeout each: at most twice as much as without", atMost: 2, of: .procedureKit("add, unlimited"),
      ("W8", "add")),
  ]

  private static func memory(_ way: String, atMost bytes: Double) -> Comparison {
    Comparison(workload: "W7", contestant: .procedureKit(way), baseline: nil, limit: bytes)
  }

  /// Each workload that grows, against its own hundredth.
  private static let growth = Workload.all.filter(\.isLong).flatMap { workload in
    workload.contestants.compactMap { contestant -> Comparison? in
      guard case .procedureKit(let way) = contestant.role else { return nil }
      let hundredth = Workload.hundredth(of: way)
      guard workload.contestants.contains(where: { $0.role == hundredth }) else { return nil }
      return Comparison(workload: workload.id, contestant: contestant.role, baseline: hundredth, limit: 1.5)
    }
  }
}
