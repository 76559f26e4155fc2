extension Target {
  static let all = [
    Target("P1", "run, in sequence in one task: 0.40", atMost: 0.40, ("W1", "run")),
    Target("P2", "add, every handle awaited: 0.60", atMost: 0.60, ("W1", "add")),
    Target("P3", "add to a queue of width 2 and of width 8: 0.80", atMost: 0.80, ("W2", "add"), ("W2/8", "add")),
    Target("P4", "a chain as a graph that is already built: 0.10", atMost: 0.10, ("W3", "run")),
    Target("P5", "layers, the same: 0.15", atMost: 0.15, ("W4", "run")),
    Target("P6", "a tree, the same: 0.25", atMost: 0.25, ("W5", "run")),
    Target(
      "P7", "a graph that has to be built: 0.30", atMost: 0.30, ("W3", "build and run"), ("W4", "build and run")),
    Target("P8", "bodies that exclude each other: 1.5", atMost: 1.5, ("W6", "add")),
    Target("P9", "a million: at most 1.5 times as much for each as ten thousand", growth),
    Target(
      "P10", "memory of waiting work: at most 300 bytes each, and all released",
      [
        memory("add", atMost: 300),
        // Within a tenth of the memory that the process needs otherwise.
        memory("add once more", atMost: 30),
      ]),
    Target(
      "P11", "events observed: at most four times as much as unobserved", atMost: 4, of: .procedureKit("add"),
      ("W1", "add, observed")),
    Target("P12", "bodies that sleep: within 10 % of the sleeping alone", atMost: 1.1, ("P12", "add")),
    Target(
      "P13", "a timeout each: at most twice as much as without", atMost: 2, of: .procedureKit("add, unlimited"),
      ("W8", "add")),
    Target(
      "P14", "enqueue where there is room: at most 1.3 times as much as add", atMost: 1.3, of: .procedureKit("add"),
      ("P14", "enqueue")),
    Target(
      "P15", "elements of a map and of a stream: at most 1.5 times as much as add", atMost: 1.5,
      of: .procedureKit("add"), ("P15", "map"), ("P15", "results")),
    Target(
      "P16", "pauses: at most 1,000 bytes each; cancelled from the last on, at most three times a task each",
      [
        memory("pause", atMost: 1_000),
        Comparison(workload: "P16", contestant: .procedureKit("add"), baseline: .floor, limit: 3),
      ]),
    Target(
      "N1", "small bodies over HTTP: at most 1.3 times as much as curl", atMost: 1.3, of: .bare("load"), ("N1", "load")),
    Target(
      "N2", "a body over HTTP to a file: at most 1.2 times as much as curl -o", atMost: 1.2, of: .bare("download"),
      ("N2", "download")),
    Target("P17", "bodies that end in the opposite order: at most twice a task each", atMost: 2, ("P17", "add")),
  ]

  private static func memory(_ way: String, atMost bytes: Double) -> Comparison {
    Comparison(workload: "W7", contestant: .procedureKit(way), baseline: nil, limit: bytes)
  }

  /// Each growing workload, compared with a hundredth of it.
  private static let growth = Workload.all.filter(\.isLong).flatMap { workload in
    workload.contestants.compactMap { contestant -> Comparison? in
      guard case .procedureKit(let way) = contestant.role else { return nil }
      let hundredth = Workload.hundredth(of: way)
      guard workload.contestants.contains(where: { $0.role == hundredth }) else { return nil }
      return Comparison(workload: workload.id, contestant: contestant.role, baseline: hundredth, limit: 1.5)
    }
  }
}
