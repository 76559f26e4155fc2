import Synchronization

/// Who holds which categories and resources.
///
/// Procedures exclude each other wherever they run, since there is one table for the process. A queue with a table of its
/// own (``ProcedureQueue/init(_:maxConcurrentProcedures:isSuspended:clock:executor:maxWaitingProcedures:overflow:contextCarriers:resources:hooks:seed:)``) excludes
/// only on the queues that share it: for tests, and for parts of a program that know nothing of each other.
///
/// Keys that nobody holds or waits for use no memory.
public final class ResourceTable: Sendable {
  /// The table of the process, for all queues that have none of their own, and for what runs without a queue.
  public static let shared = ResourceTable()

  /// What becomes of a claim at first.
  enum Answer: Sendable {
    case granted
    /// The claimant will be told. Others may have to be told that it waits.
    case waits(News)
    /// It would wait for ever.
    case refused([ExclusionWait])
  }

  /// What the claimants of others have to be told. It is not told under any lock.
  struct News: Sendable {
    var granted: [any ResourceClaimant] = []
    var refused: [(claimant: any ResourceClaimant, waits: [ExclusionWait])] = []
    /// Those that something of higher priority waits for.
    var raised: [(claimant: any ResourceClaimant, priority: UInt8)] = []
    /// Nothing but to let go of them: they refer to values of the user's.
    var abandoned: [any AnyObject & Sendable] = []

    var isEmpty: Bool { granted.isEmpty && refused.isEmpty && raised.isEmpty && abandoned.isEmpty }

    fileprivate func tell() {
      for claimant in granted { claimant.resourcesGranted() }
      for (claimant, waits) in refused { claimant.resourcesRefused(waits) }
      for (claimant, priority) in raised { claimant.raise(to: TaskPriority(rawValue: priority)) }
    }
  }

  private struct Outbox {
    var news: [News] = []
    var isDelivering = false
  }

  private let outbox = Mutex(Outbox())
  let openPools = Atomic(0)
  /// The keys that anybody wants.
  let index = ResourceIndex()
  /// Executions that several wait for.
  let sharedWork = SharedWorkTable()

  /// An empty table.
  public init() {}

  /// How many keys somebody holds or waits for.
  public var count: Int { openPools.load(ordering: .acquiring) }

  /// Tells claimants what has become of their claims. Called outside of all locks.
  ///
  /// What follows from that, and is delivered meanwhile, is told by whoever delivers already: a loop and not a recursion,
  /// however many queues pass a grant on to each other.
  func deliver(_ news: News) {
    guard !news.isEmpty else { return }
    let isFirst = outbox.withLock { outbox in
      outbox.news.append(news)
      defer { outbox.isDelivering = true }
      return !outbox.isDelivering
    }
    guard isFirst else { return }
    while true {
      let batch = outbox.withLock { outbox in
        outbox.isDelivering = !outbox.news.isEmpty
        return outbox.news.takeAll()
      }
      guard !batch.isEmpty else { return }
      for news in batch { news.tell() }
    }
  }
}
