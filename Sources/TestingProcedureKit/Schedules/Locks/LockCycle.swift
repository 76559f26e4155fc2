/// Strands that take explored locks in a circle: each strand holds a lock, and takes the lock of the next strand.
public struct LockCycle: Hashable, Sendable, CustomStringConvertible {
  /// A strand that holds a lock, and takes another lock.
  public struct Member: Hashable, Sendable, CustomStringConvertible {
    /// The strand; see `ExplorationFailure.order`.
    public var strand: Int

    /// The held lock, by the place of its initialization; locks of one place are numbered.
    public var held: String

    /// The place of the locking of the held lock.
    public var heldSince: String

    /// The other lock, by the place of its initialization; locks of one place are numbered.
    public var taken: String

    /// The place of the locking of the other lock.
    public var takenAt: String

    /// The strand, the locks and the places in words.
    public var description: String {
      "strand \(strand) holds the lock of \(held) since \(heldSince), and takes the lock of \(taken) at \(takenAt)"
    }
  }

  /// The strands in the order of the circle. A single strand takes a lock again that the strand holds.
  public var members: [Member]

  /// The strands, the locks and the places in words.
  public var description: String {
    members.map(\.description).joined(separator: "; ")
  }
}
