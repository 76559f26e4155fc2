import Synchronization

/// Internal. One key of one table, as long as anybody wants it: what stands for the key wherever a lock is held.
///
/// Keys are values of the user's. Finding the entry of a key, which compares it to others, is done outside of all locks, and
/// so is letting go of the last reference to one.
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
  fileprivate let hash: Int
  fileprivate let number: UInt64
  /// What stands for it in the ledger; -1 while nobody claims it.
  var pool: Int32 = -1

  /// How many claims have come to wait for it; looked at without a lock.
  var waitCount: UInt64 { waits.load(ordering: .relaxed) }

  /// A claim has come to wait for it. Called under the lock of ``ResourceBook``.
  func waitStarted() { waits.wrappingAdd(1, ordering: .relaxed) }

  fileprivate init(_ demand: ResourceRequest.Demand, number: UInt64, in table: ResourceTable) {
    self.table = table
    key = demand.key
    capacity = demand.capacity
    hash = demand.hash
    self.number = number
  }

  deinit {
    table.index.remove(number, hash: hash)
  }
}

/// Internal. The entries of a table, by the hashes of their keys.
final class ResourceIndex: Sendable {
  private struct Slot {
    let number: UInt64
    weak var entry: ResourceEntry?
  }

  private let state = Mutex<[Int: [Slot]]>([:])
  private let nextNumber = Atomic<UInt64>(0)

  /// The entry of a key. Compares the key, outside of all locks, to those of the same hash.
  func entry(for demand: ResourceRequest.Demand, in table: ResourceTable) -> ResourceEntry {
    var compared: Set<UInt64> = []
    while true {
      let slots = state.withLock { $0[demand.hash] ?? [] }
      for slot in slots where compared.insert(slot.number).inserted {
        if let entry = slot.entry, entry.key == demand.key { return entry }
      }
      let number = nextNumber.wrappingAdd(1, ordering: .relaxed).newValue
      let entry = ResourceEntry(demand, number: number, in: table)
      if insert(entry, unlessMoreThan: compared) { return entry }
    }
  }

  /// Says whether it did: not if others have come meanwhile, which have to be looked at.
  private func insert(_ entry: ResourceEntry, unlessMoreThan compared: Set<UInt64>) -> Bool {
    state.withLock { slots in
      guard slots[entry.hash, default: []].allSatisfy({ compared.contains($0.number) }) else { return false }
      slots[entry.hash, default: []].append(Slot(number: entry.number, entry: entry))
      return true
    }
  }

  fileprivate func remove(_ number: UInt64, hash: Int) {
    state.withLock { slots in
      slots[hash]?.removeAll { $0.number == number }
      if slots[hash]?.isEmpty ?? false { slots[hash] = nil }
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
