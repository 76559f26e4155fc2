import ProcedureKit

/// The sum of the values for all queues with the same name. Such queues must be combined, because the format allows each series only once.
struct PrometheusQueue {
  /// The states that are counted, which are all the states of procedures that have not ended.
  static let states: [ProcedureState] = [.pending, .evaluating, .waiting, .executing, .pausing, .finishing]

  let name: String
  private(set) var slots = 0.0
  private(set) var slotsInUse = 0
  private(set) var suspendedCount = 0
  private(set) var states: [ProcedureState: Int] = [:]
  private(set) var totals: QueueTotals?

  /// Adds up the snapshots of queues with the same name. The results are in the order in which the names first occur.
  static func merged(_ snapshots: [QueueSnapshot]) -> [PrometheusQueue] {
    var queues: [PrometheusQueue] = []
    var indices: [ByteText: Int] = [:]
    for snapshot in snapshots {
      let name = snapshot.name.shortened(to: 200)
      let index = indices[ByteText(name)] ?? queues.count
      if index == queues.count {
        indices[ByteText(name)] = index
        queues.append(PrometheusQueue(name: name))
      }
      queues[index].add(snapshot)
    }
    return queues
  }

  private init(name: String) { self.name = name }

  private mutating func add(_ snapshot: QueueSnapshot) {
    slots += snapshot.maxConcurrentProcedures == .max ? .infinity : Double(snapshot.maxConcurrentProcedures)
    slotsInUse += snapshot.slotsInUse
    suspendedCount += snapshot.isSuspended ? 1 : 0
    for entry in snapshot.procedures { states[entry.state, default: 0] += 1 }
    guard let new = snapshot.totals else { return }
    totals = totals ?? QueueTotals()
    totals?.merge(new)
  }
}
