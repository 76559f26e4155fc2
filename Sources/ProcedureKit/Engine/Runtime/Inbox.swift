import Synchronization

/// Internal. Runs that were added without a visit to their queue's lock, until a visit takes them over.
///
/// Whoever adds runs one after another would otherwise wait for the worker that executes them at each, and each of both would
/// fetch from the other's processor all that the other has just changed. This has a lock of its own, which the worker takes
/// once for many runs. It is open only while nothing follows from a run that comes but that it stands in line, or behind one
/// that it follows: see ``QueueState/wantedInboxWish``. Every visit takes what is in here before anything else, so that nobody can
/// tell the difference, but for looks at one member or at the crew, and those of workers, which take what may come next, or
/// follows the run that ends.
///
/// Its lock is taken inside that of the queue, and those of event streams inside of it.
struct Inbox: ~Copyable {
  /// Which runs are let in, so that they come before nobody who stands in line, nor before each other.
  struct Terms {
    let priority: UInt8
    /// What they want alone, and nothing else: what one holds whom they follow. ``plain`` for runs that want nothing.
    let wish: UInt64
    /// How many claims had come to wait for that before; where more have, who comes now comes behind these.
    let waits: UInt64

    func admit(_ run: DetachedRun) -> Bool {
      guard run.priority == priority else { return false }
      guard let wants = run.resources else { return wish == Inbox.plain }
      guard wish != Inbox.plain, let entry = wants.wholeEntry else { return false }
      return entry.identifier == wish && entry.waitCount == waits
    }
  }

  struct Contents {
    /// In the order in which they came.
    var runs: ContiguousArray<DetachedRun?> = []
    /// `nil` where it is closed.
    var terms: Terms?
  }

  /// The wish of those who want nothing.
  static let plain: UInt64 = 0
  /// Nobody's wish.
  static let closed = UInt64.max
  /// For how many runs memory is kept where there are none.
  static let mostKept = 1_024

  private let contents = Mutex(Contents())
  /// Whether it is worth trying.
  private let seemsOpen = Atomic(false)

  /// Puts a run in, if it is open for it.
  ///
  /// - Parameters:
  ///   - run: The run.
  ///   - tell: Tells of it; called before any visit can know of it.
  /// - Returns: Whether it did.
  func put(_ run: DetachedRun, telling tell: () -> Void) -> Bool {
    guard seemsOpen.load(ordering: .relaxed) else { return false }
    return contents.withLock { contents in
      guard contents.terms?.admit(run) ?? false else { return false }
      contents.runs.append(run)
      tell()
      return true
    }
  }

  /// Lets runs in. Called under the lock of the queue, as all that follows.
  func open(on terms: Terms) {
    contents.withLock { $0.terms = terms }
    seemsOpen.store(true, ordering: .relaxed)
  }

  /// Takes what has come, in order, in exchange for an empty array.
  func takeAll(_ runs: inout ContiguousArray<DetachedRun?>) {
    contents.withLock { swap(&$0.runs, &runs) }
  }

  /// Gives the memory of many runs back. Only where it is closed and empty: the array that it was given in exchange may be the
  /// one that many have come in.
  func releaseStorage() {
    contents.withLock { if $0.runs.capacity > Self.mostKept { $0.runs = [] } }
  }

  /// For tests: for how many runs there is memory.
  var capacity: Int { contents.withLock { $0.runs.capacity } }

  /// Lets nothing in any more.
  func close() {
    seemsOpen.store(false, ordering: .relaxed)
    contents.withLock { $0.terms = nil }
  }
}
