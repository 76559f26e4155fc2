import Synchronization

/// Internal. A key of any type, as users choose it: one object for all that are equal, as long as anybody refers to it.
///
/// Comparing and hashing keys calls what is the user's, and so may letting go of one. So a key is found once, outside of all
/// locks, and is its object from then on, which can be compared anywhere.
final class InternedKey: Hashable, Sendable {
  /// As it was given first.
  let value: any Hashable & Sendable
  private let userHash: Int
  private let number: UInt64
  private static let index = Index()

  /// The key that equals a value: also one of another type, as `AnyHashable` compares them.
  static func of(_ value: any Hashable & Sendable) -> InternedKey { index.key(value) }

  private init(_ value: any Hashable & Sendable, hash: Int, number: UInt64) {
    (self.value, userHash, self.number) = (value, hash, number)
  }

  deinit {
    Self.index.remove(number, hash: userHash)
  }

  static func == (one: InternedKey, other: InternedKey) -> Bool { one === other }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The keys that anybody refers to, by the hashes of their values.
  private final class Index: Sendable {
    private struct Slot {
      let number: UInt64
      weak var key: InternedKey?
    }

    private let slots = Mutex<[Int: [Slot]]>([:])
    private let nextNumber = Atomic<UInt64>(0)

    func key(_ value: any Hashable & Sendable) -> InternedKey {
      let sought = AnyHashable(value)
      let hash = sought.hashValue
      var compared: Set<UInt64> = []
      while true {
        let found = slots.withLock { $0[hash] ?? [] }
        for slot in found where compared.insert(slot.number).inserted {
          if let key = slot.key, AnyHashable(key.value) == sought { return key }
        }
        let number = nextNumber.wrappingAdd(1, ordering: .relaxed).newValue
        let key = InternedKey(value, hash: hash, number: number)
        if insert(key, unlessMoreThan: compared) { return key }
      }
    }

    /// Says whether it did: not if others have come meanwhile, which have to be looked at.
    private func insert(_ key: InternedKey, unlessMoreThan compared: Set<UInt64>) -> Bool {
      slots.withLock { slots in
        guard slots[key.userHash, default: []].allSatisfy({ compared.contains($0.number) }) else { return false }
        slots[key.userHash, default: []].append(Slot(number: key.number, key: key))
        return true
      }
    }

    func remove(_ number: UInt64, hash: Int) {
      slots.withLock { slots in
        slots[hash]?.removeAll { $0.number == number }
        if slots[hash]?.isEmpty ?? false { slots[hash] = nil }
        if slots.isEmpty, slots.capacity > 1_024 { slots = [:] }
      }
    }
  }
}
