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

  /// News that somebody is telling who is further up on this stack.
  private final class Delivery: Sendable {
    private struct State {
      var news: [News]
      var isOver = false
    }

    private let state: Mutex<State>

    init(_ news: News) {
      state = Mutex(State(news: [news]))
    }

    /// Says whether they will be told: not if all has been told meanwhile.
    func add(_ news: News) -> Bool {
      state.withLock { state in
        if !state.isOver { state.news.append(news) }
        return !state.isOver
      }
    }

    /// What is to be told next; `nil`, and for ever, if nothing is left.
    func next() -> [News]? {
      state.withLock { state in
        state.isOver = state.news.isEmpty
        return state.isOver ? nil : state.news.takeAll()
      }
    }
  }

  @TaskLocal private static var delivery: Delivery?
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
  /// What follows from that on the same stack is told by whoever delivers already: a loop and not a recursion, however many
  /// queues pass a grant on to each other. What others deliver at the same time they tell themselves, so that no task is
  /// woken by a thread that has nothing to do with it.
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
