import Synchronization

/// A key of any type, provided by the user. All equal values share one object for as long as the object is referenced.
///
/// Comparing, hashing and releasing a key can call the user's code. A key is therefore looked up only once, while no lock is held. After
/// that, its object is compared by identity, which is safe even while a lock is held.
///
/// The type is `package` because `ProcedureKitPacing` uses it.
package final class InternedKey: Hashable, Sendable {
  /// The value that the key was created from.
  let value: any Hashable & Sendable
  private let userHash: Int
  private let number: UInt64
  private static let index = Index()

  /// Returns the key of `value`. Strings are compared byte by byte. As with `AnyHashable`, values of different types can be equal.
  package static func of(_ value: any Hashable & Sendable) -> InternedKey { index.key(value) }

  private init(_ value: any Hashable & Sendable, hash: Int, number: UInt64) {
    (self.value, userHash, self.number) = (value, hash, number)
  }

  deinit {
    Self.index.remove(number, hash: userHash)
  }

  package static func == (one: InternedKey, other: InternedKey) -> Bool { one === other }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The keys that are still referenced, indexed by the hashes of their values.
  private final class Index: Sendable {
    private struct Slot {
      let number: UInt64
      weak var key: InternedKey?
    }

    private struct Contents {
      var slots: [Int: [Slot]] = [:]
      var lookups: UInt64 = 0
    }

    private let contents = Mutex(Contents())

    func key(_ value: any Hashable & Sendable) -> InternedKey {
      let sought = ByteText.key(value)
      let hash = sought.hashValue
      var compared: Set<UInt64> = []
      while true {
        let (found, number) = contents.withLock { contents in
          contents.lookups += 1
          return (contents.slots[hash] ?? [], contents.lookups)
        }
        for slot in found where compared.insert(slot.number).inserted {
          if let key = slot.key, ByteText.key(key.value) == sought { return key }
        }
        let key = InternedKey(value, hash: hash, number: number)
        if insert(key, unlessMoreThan: compared) { return key }
      }
    }

    /// Inserts `key`, unless another key with the same hash has been inserted since the caller compared the keys.
    ///
    /// - Returns: Whether the key was inserted. If not, the caller has to compare again.
    private func insert(_ key: InternedKey, unlessMoreThan compared: Set<UInt64>) -> Bool {
      contents.withLock { contents in
        let slots = contents.slots[key.userHash] ?? []
        guard slots.allSatisfy({ compared.contains($0.number) }) else { return false }
        contents.slots[key.userHash, default: []].append(Slot(number: key.number, key: key))
        return true
      }
    }

    func remove(_ number: UInt64, hash: Int) {
      contents.withLock { contents in
        contents.slots[hash]?.removeAll { $0.number == number }
        if contents.slots[hash]?.isEmpty ?? false { contents.slots[hash] = nil }
        if contents.slots.isEmpty, contents.slots.capacity > 1_024 { contents.slots = [:] }
      }
    }
  }
}
