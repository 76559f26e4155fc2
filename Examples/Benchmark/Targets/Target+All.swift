extension Target {
  static let all = [
    Target("P1", "sequential calls to run in one task", [.ratio("W1", "run", atMost: 0.4)]),
    Target(
      "P2", "add, then await every handle",
      [.ratio("W1", "add", atMost: 0.5), .ratio("W1", "add", to: .operationQueue, atMost: 0.25)]),
    Target(
      "P3", "add to queues of width 2 and 8",
      [.ratio("W2", "add", atMost: 0.75), .ratio("W2/8", "add", atMost: 0.75)]),
    Target("P4", "a chain as a prebuilt graph", [.ratio("W3", "run", atMost: 0.05)]),
    Target("P5", "layers as a prebuilt graph", [.ratio("W4", "run", atMost: 0.08)]),
    Target("P6", "a tree as a prebuilt graph", [.ratio("W5", "run", atMost: 0.1)]),
    Target(
      "P7", "a chain and layers, including building the graph",
      [.ratio("W3", "build and run", atMost: 0.14), .ratio("W4", "build and run", atMost: 0.22)]),
    Target("P8", "mutually exclusive bodies", [.ratio("W6", "add", atMost: 0.6)]),
    Target("P9", "workloads of a million units, relative to those of ten thousand", growth),
    Target(
      "P10", "bytes per waiting procedure, and extra bytes per procedure when the queue is refilled",
      // The limit is not 0, because the memory that the process needs for other purposes varies.
      [.cost("W7", "add", atMost: 300), .cost("W7", "add again", atMost: 30)]),
    Target(
      "P11", "observing all events of a queue",
      [.ratio("W1", "add, observed", to: .procedureKit("add"), atMost: 3)]),
    Target("P12", "bodies that sleep", [.ratio("P12", "add", atMost: 1.08)]),
    Target(
      "P13", "bodies that each have a timeout", [.ratio("W8", "add", to: .procedureKit("add, unlimited"), atMost: 1.1)]),
    Target(
      "P14", "enqueue on a queue that has room", [.ratio("P14", "enqueue", to: .procedureKit("add"), atMost: 1.05)]),
    Target(
      "P15", "elements of a map and of a stream",
      [
        .ratio("P15", "map", to: .procedureKit("add"), atMost: 0.7),
        .ratio("P15", "results", to: .procedureKit("add"), atMost: 1.5),
      ]),
    Target(
      "P16", "bytes per delay and per pause between attempts; pauses cancelled in reverse order",
      [
        .cost("W7", "delay", atMost: 800), .cost("W7", "between attempts", atMost: 800),
        // The cost of a cancellation is constant. If each cancellation had to search through the others, the ratio would be ten.
        .ratio("P16", "add", to: .procedureKit("add, 1/10"), atMost: 2),
      ]),
    Target("P17", "bodies that finish in reverse order", [.ratio("P17", "add", atMost: 1.1)]),
    Target(
      "P18", "retry, timeout, breaker, limiter and hedge, in ns",
      [.excess("P18", "run", over: .procedureKit("run, body alone"), atMost: 1_500)]),
    Target(
      "P19", "a node whose value is stored in a file, with and without a flush, in ns",
      [
        .cost("W9", "no flush", atMost: 12_000),
        .excess("W9", DurableWork.flushed, over: .bare(DurableWork.flushed), atMost: 20_000),
      ]),
    Target("N1", "small HTTP downloads (bare: curl)", [.ratio("N1", "load", to: .bare("load"), atMost: 1.3)]),
    Target(
      "N2", "HTTP downloads to a file (bare: curl)",
      [.ratio("N2", "download", to: .bare("download"), atMost: 1.2)]),
  ]

  /// Comparisons of each long workload with the same workload at a hundredth of its size.
  private static let growth = Workload.all.filter(\.isLong).flatMap { workload in
    workload.contestants.compactMap { contestant -> Comparison? in
      guard case .procedureKit(let way) = contestant.role else { return nil }
      let hundredth = Workload.hundredth(of: way)
      guard workload.contestants.contains(where: { $0.role == hundredth }) else { return nil }
      return .ratio(workload.id, way, to: hundredth, atMost: 1.3)
    }
  }
}
