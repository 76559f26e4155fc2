import Synchronization

/// A table of the holders of categories and resources.
///
/// One process-wide table makes procedures exclude each other on every queue. A queue with its own table
/// (``ProcedureQueue/init(_:maxConcurrentProcedures:isSuspended:clock:executor:maxWaitingProcedures:overflow:contextCarriers:resources:hooks:seed:)``)
/// excludes only on the queues with the same table: for tests, and for independent parts of a program.
///
/// Keys without a holder and without a waiting claim use no memory.
public final class ResourceTable: Sendable {
  /// The process-wide table, for queues without their own table and for procedures without a queue.
  public static let shared = ResourceTable()

  /// The table's first response to a claim.
  enum Answer: Sendable {
    case granted
    /// The claim waits, and the claimant will be called. The notifications may concern other claims.
    case waits(News)
    /// The claim would wait forever.
    case refused([ExclusionWait])
  }

  /// Notifications for claimants, sent outside of all locks.
  struct News: Sendable {
    var granted: [any ResourceClaimant] = []
    var refused: [(claimant: any ResourceClaimant, waits: [ExclusionWait])] = []
    /// The claimants for which a run of higher priority waits.
    var raised: [(claimant: any ResourceClaimant, priority: UInt8)] = []
    /// Objects to release outside of the lock, since they refer to the user's values.
    var abandoned: [any AnyObject & Sendable] = []

    var isEmpty: Bool { granted.isEmpty && refused.isEmpty && raised.isEmpty && abandoned.isEmpty }

    fileprivate func tell() {
      for claimant in granted { claimant.resourcesGranted() }
      for (claimant, waits) in refused { claimant.resourcesRefused(waits) }
      for (claimant, priority) in raised { claimant.raise(to: TaskPriority(rawValue: priority)) }
    }
  }

  /// Pending notifications that a caller further up on the stack is sending.
  private final class Delivery: Sendable {
    private struct State {
      var news: [News]
      var isOver = false
    }

    private let state: Mutex<State>

    init(_ news: News) {
      state = Mutex(State(news: [news]))
    }

    /// Adds notifications for the sender.
    ///
    /// - Returns: Whether the sender will send the notifications; `false` after the delivery has ended.
    func add(_ news: News) -> Bool {
      state.withLock { state in
        if !state.isOver { state.news.append(news) }
        return !state.isOver
      }
    }

    /// Returns the next notifications; `nil`, from then on, if none is left.
    func next() -> [News]? {
      state.withLock { state in
        state.isOver = state.news.isEmpty
        return state.isOver ? nil : state.news.takeAll()
      }
    }
  }

  @TaskLocal private static var delivery: Delivery?
  let openPools = Atomic(0)
  /// The keys in use.
  let index = ResourceIndex()
  /// The shared executions.
  let sharedWork = SharedWorkTable()

  /// Makes an empty table.
  public init() {}

  /// The number of keys with a holder or a waiting claim.
  public var count: Int { openPools.load(ordering: .acquiring) }

  /// Sends notifications to claimants. Called outside of all locks.
  ///
  /// A nested call adds its notifications to the outer call's: a loop instead of a recursion, however many queues pass
  /// a grant on. Other threads send their own notifications, so that a thread does not wake unrelated tasks.
  static func deliver(_ news: News) {
    guard !news.isEmpty else { return }
    if let delivery, delivery.add(news) { return }
    let delivery = Delivery(news)
    $delivery.withValue(delivery) {
      while let batch = delivery.next() {
        for news in batch { news.tell() }
      }
    }
  }
}
