import Synchronization

/// Internal. The entry of one key in one table, alive while a claim refers to the key. The entry represents the key
/// under locks.
///
/// Invariant: the lock of ``ResourceBook`` guards `pool`; the other properties are constant or atomic.
final class ResourceEntry: @unchecked Sendable {
  private static let identifiers = Atomic<UInt64>(0)

  /// The number of the entry, unique in the process and never 0.
  let identifier = ResourceEntry.identifiers.wrappingAdd(1, ordering: .relaxed).newValue
  private let waits = Atomic<UInt64>(0)
  let table: ResourceTable
  let key: ResourceKey
  let capacity: Int32
  /// The index of the resource in the ledger; -1 while no claim uses the resource.
  var pool: Int32 = -1

  /// The number of claims that have waited for the resource so far, readable without a lock.
  var waitCount: UInt64 { waits.load(ordering: .relaxed) }

  /// Counts a claim that starts to wait. Called under the lock of ``ResourceBook``.
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

/// Internal. The entries of a table, by key.
final class ResourceIndex: Sendable {
  private struct Slot {
    let identifier: UInt64
    weak var entry: ResourceEntry?
  }

  private let slots = Mutex<[ResourceKey: Slot]>([:])

  /// Returns the entry of the demand's key, and makes a missing entry.
  func entry(for demand: ResourceRequest.Demand, in table: ResourceTable) -> ResourceEntry {
    slots.withLock { slots in
      if let entry = slots[demand.key]?.entry { return entry }
      let entry = ResourceEntry(demand, in: table)
      slots[demand.key] = Slot(identifier: entry.identifier, entry: entry)
      return entry
    }
  }

  /// Removes an entry, unless a newer entry has the key.
  fileprivate func remove(_ key: ResourceKey, _ identifier: UInt64) {
    slots.withLock { slots in
      if slots[key]?.identifier == identifier { slots[key] = nil }
      if slots.isEmpty, slots.capacity > 1_024 { slots = [:] }
    }
  }
}

/// Internal. The demands of one level as entries of one table, looked up before any lock is taken.
final class ResourceDemands: Sendable {
  struct Demand: Sendable {
    let entry: ResourceEntry
    let units: Int32
  }

  let table: ResourceTable
  let demands: [Demand]
  /// The entry of the single resource that the level claims completely; `nil` for any other demand. Two such claims
  /// exclude each other.
  let wholeEntry: ResourceEntry?

  /// The identifier of `wholeEntry`; 0 for any other demand.
  var wish: UInt64 { wholeEntry?.identifier ?? 0 }

  /// Looks up the entries of `request`. Two capacities for one resource trap.
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
