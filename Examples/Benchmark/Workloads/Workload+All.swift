extension Workload {
  /// All workloads.
  static let all: [Workload] = common + common.prefix { $0.id != "W6" }.map(\.growth)

  private static let common = [
    Workload("W1", "flat", units: 100_000, FlatWork.contestants),
    Workload("W2", "at most 2 at a time", units: 100_000, BoundedWork(width: 2).contestants),
    Workload("W2/8", "at most 8 at a time", units: 100_000, BoundedWork(width: 8).contestants),
    Workload("W3", "chain that passes an Int along", units: 10_000, ChainWork.contestants),
    Workload("W4", "layers, 3 inputs each", units: 10_000, LayerWork.contestants),
    Workload("W5", "binary tree", units: 32_767, TreeWork.contestants),
    Workload("W6", "all mutually exclusive", units: 10_000, ExclusiveWork.contestants),
    Workload("W8", "each with a timeout", units: 100_000, TimeoutWork.contestants),
    Workload("P14", "enqueue on a queue that has room", units: 100_000, RoomWork.contestants),
    Workload("P18", "retry, timeout, breaker, limiter, hedge", units: 20_000, ResilienceWork.contestants),
    Workload("P15", "elements, at most 8 at a time", units: 100_000, ElementWork.contestants),
    Workload("W7", "waiting work, in bytes", units: 1_000_000, executions: 1, Store.contestants),
    Workload("P16", "an hour-long pause, cancelled", units: 50_000, PauseWork.contestants),
    Workload("P17", "sleep, finishing in reverse order", units: 16_000, executions: 2, ReverseSleepWork.contestants),
    Workload("P12", "sleep 1 ms, 100 at a time", units: 10_000, executions: 2, SleepWork.contestants),
    Workload("W9", "remembered in a file", units: 10_000, executions: 2, DurableWork.contestants),
    Workload("W10", "hash 16 KiB files, at most 8 at a time", units: 2_000, executions: 2, HashWork.contestants),
    Workload(
      "N1", "small HTTP downloads, 64 at a time", units: 10_000, needsServer: true, executions: 2, HTTPWork.small),
    Workload("N2", "HTTP downloads to a file, MiB", units: 1_024, needsServer: true, executions: 2, HTTPWork.large),
  ]
}
