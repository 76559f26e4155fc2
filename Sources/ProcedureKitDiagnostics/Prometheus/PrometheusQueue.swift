import ProcedureKit

/// The combined values of all queues that have the same name. The values are combined because the format allows each series to appear only
/// once.
struct PrometheusQueue {
  /// The states that are counted: those of procedures that have not ended.
  static let states: [ProcedureState] = [.pending, .evaluating, .waiting, .executing, .pausing, .finishing]

  let name: String
  private(set) var slots = 0.0
  private(set) var slotsInUse = 0
  private(set) var suspendedCount = 0
  private(set) var states: [ProcedureState: Int] = [:]
  /// The number of procedures in each state, for each key. Procedures that have no key or an empty key are not counted here.
  private var statesByKey: [ByteText: [ProcedureState: Int]] = [:]
  private(set) var totals: QueueTotals?

  /// Returns one element for each queue name, in the order in which the names first occur. Snapshots with the same name are combined by
  /// adding their values.
  static func merged(_ snapshots: [QueueSnapshot], countsKeys: Bool = false) -> [PrometheusQueue] {
    var queues: [PrometheusQueue] = []
    var indices: [ByteText: Int] = [:]
    for snapshot in snapshots {
      let name = snapshot.name.shortened(to: 200)
      let index = indices[ByteText(name)] ?? queues.count
      if index == queues.count {
        indices[ByteText(name)] = index
        queues.append(PrometheusQueue(name: name))
      }
      queues[index].add(snapshot, countsKeys)
    }
    return queues
  }

  private init(name: String) { self.name = name }

  private mutating func add(_ snapshot: QueueSnapshot, _ countsKeys: Bool) {
    slots += snapshot.maxConcurrentProcedures == .max ? .infinity : Double(snapshot.maxConcurrentProcedures)
    slotsInUse += snapshot.slotsInUse
    suspendedCount += snapshot.isSuspended ? 1 : 0
    for entry in snapshot.procedures { states[entry.state, default: 0] += 1 }
    if countsKeys { addKeys(of: snapshot) }
    guard let new = snapshot.totals else { return }
    totals = totals ?? QueueTotals()
    totals?.merge(new)
  }

  private mutating func addKeys(of snapshot: QueueSnapshot) {
    var labels: [ByteText: ByteText] = [:]
    for entry in snapshot.procedures {
      guard let key = entry.key.map(ByteText.init) else { continue }
      // Shortening is slow, and many procedures have the same key, so each key is shortened only once.
      let label = labels[key] ?? ByteText(key.text.shortened(to: 200))
      labels[key] = label
      // In Prometheus, an empty label is the same as no label, so a separate series would be a duplicate.
      if !label.text.isEmpty { statesByKey[label, default: [:]][entry.state, default: 0] += 1 }
    }
  }

  /// Returns the keys with the most procedures, and the number of all other procedures in each state.
  ///
  /// - Parameter max: The maximum number of keys.
  /// - Returns: The keys in alphabetical order, and the counts of the other procedures.
  func busiestKeys(_ max: Int) -> (keys: [(key: String, states: [ProcedureState: Int])], rest: [ProcedureState: Int]) {
    let counts = statesByKey.mapValues { $0.values.reduce(0, +) }
    let busiest = counts.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }.prefix(max)
    var (keys, rest) = ([(key: String, states: [ProcedureState: Int])](), states)
    for key in busiest.map(\.key).sorted() {
      let states = statesByKey[key] ?? [:]
      keys.append((key.text, states))
      rest.merge(states) { $0 - $1 }
    }
    return (keys, rest)
  }
}
