/// The workloads and targets to measure.
struct Selection: Sendable {
  let workloads: [Workload]
  let targets: [Target]
  /// Whether workloads were omitted only because they take a long time.
  let leavesOutLong: Bool

  /// The names that can be selected.
  static let names = Set(Workload.all.filter { !$0.isLong }.map(\.id) + Target.all.map(\.id))

  /// Selects all contestants of each named workload. For a named target, selects only the contestants that the target compares.
  ///
  /// - Parameters:
  ///   - names: The names of workloads and targets. If the list is empty, all of them are selected.
  ///   - includesLong: Whether long workloads are included even if they are not named.
  init(_ names: [String], includesLong: Bool) {
    let names = Set(names)
    let named = Target.all.filter { names.contains($0.id) }
    let roles = Dictionary(
      named.flatMap(\.comparisons).map {
        ($0.workload, Set([$0.contestant, $0.baseline].compactMap(\.self)))
      },
      uniquingKeysWith: { $0.union($1) })
    workloads = Workload.all.compactMap { workload in
      if names.contains(workload.id) || (workload.isLong ? includesLong : names.isEmpty) { return workload }
      return roles[workload.id].map { workload.limited(to: $0) }
    }
    // A target is judged only if at least one of its workloads is measured.
    let measured = Set(workloads.map(\.id))
    targets = Target.all.filter { target in target.comparisons.contains { measured.contains($0.workload) } }
    leavesOutLong = names.isEmpty && !includesLong
  }
}
