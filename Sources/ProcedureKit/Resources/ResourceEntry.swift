import Synchronization

/// Internal. One key of one table, as long as anybody wants it: what stands for the key wherever a lock is held.
///
/// Invariant: `pool` is guarded by the lock of ``ResourceBook``; the rest is constant or atomic.
final class ResourceEntry: @unchecked Sendable {
  private static let identifiers = Atomic<UInt64>(0)

  /// What it is known by in the process; never 0.
  let identifier = ResourceEntry.identifiers.wrappingAdd(1, ordering: .relaxed).newValue
  private let waits = Atomic<UInt64>(0)
  let table: ResourceTable
  let key: ResourceKey
  let capacity: Int32
  /// What stands for it in the ledger; -1 while nobody claims it.
  var pool: Int32 = -1

  /// How many claims have come to wait for it; looked at without a lock.
  var waitCount: UInt64 { waits.load(ordering: .relaxed) }

  /// A claim has come to wait for it. Called under the lock of ``ResourceBook``.
  func waitStarted() { waits.wrappingAdd(1, ordering: .relaxed) }

  fileprivate init(_ demand: ResourceRequest.Demand, in table: ResourceTable) {
    self.table = table
    key = demand.key
    capacity = demand.capacity
  }

  deinit {
    table.index.remove(key, identifier)
  }
}

/// Internal. The entries of a table, by their keys.
final class ResourceIndex: Sendable {
  private struct Slot {
    let identifier: UInt64
    weak var entry: ResourceEntry?
  }

  private let slots = Mutex<[ResourceKey: Slot]>([:])

  /// The entry of a key, which is made if there is none.
  func entry(for demand: ResourceRequest.Demand, in table: ResourceTable) -> ResourceEntry {
    slots.withLock { slots in
      if let entry = slots[demand.key]?.entry { return entry }
      let entry = ResourceEntry(demand, in: table)
      slots[demand.key] = Slot(identifier: entry.identifier, entry: entry)
      return entry
    }
  }

  /// An entry is on its way out. Its key may have another by now.
  fileprivate func remove(_ key: ResourceKey, _ identifier: UInt64) {
    slots.withLock { slots in
      if slots[key]?.identifier == identifier { slots[key] = nil }
      if slots.isEmpty, slots.capacity > 1_024 { slots = [:] }
    }
  }
}

/// Internal. What is wanted together, by the entries of one table: found before any lock is taken.
final class ResourceDemands: Sendable {
  struct Demand: Sendable {
    let entry: ResourceEntry
    let units: Int32
  }

  let table: ResourceTable
  let demands: [Demand]
  /// The one thing that is wanted, where it is all there is of it: so that nobody who wants the same can hold it too.
  let wholeEntry: ResourceEntry?

  /// What it is known by that exactly this is wanted alone; 0 where something else is.
  var wish: UInt64 { wholeEntry?.identifier ?? 0 }

  /// Traps where a resource is used with two capacities.
  init(_ request: ResourceRequest, in table: ResourceTable) {
    self.table = table
    demands = request.demands.map { demand in
      let entry = table.index.entry(for: demand, in: table)
      require(
        entry.capacity == demand.capacity,
        "Resource \"\(demand.key)\" is used with the capacities \(entry.capacity) and \(demand.capacity)")
      return Demand(entry: entry, units: demand.units)
    }
    wholeEntry = demands.count == 1 && demands[0].units == demands[0].entry.capacity ? demands[0].entry : nil
  }
}
