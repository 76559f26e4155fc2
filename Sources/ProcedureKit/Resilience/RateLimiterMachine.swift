/// Internal. Decides when each of those who come may go on, first come first served. Instants are durations since some
/// epoch.
///
/// Who has to wait takes a ticket. Tickets are granted at the instants at which tokens come back, whenever somebody looks:
/// one who is late takes nothing from those behind. Every event is O(1), amortised.
struct RateLimiterMachine {
  /// Tickets are numbered in the order in which they are taken.
  typealias Ticket = Int

  enum Admission: Equatable {
    case granted
    /// Not before that instant, or never.
    case refused(until: Duration?)
    case waiting(Ticket)
  }

  private var bucket: TokenBucket
  /// How long anybody may have to wait; `nil` for as long as it takes.
  private let longestWait: Duration?
  /// The ticket that is next.
  private(set) var head: Ticket = 0
  private var nextTicket: Ticket = 0
  /// Tickets behind the head that nobody holds any more.
  private var gone: Set<Ticket> = []
  /// The ticket that was granted last, if nobody has gone on since without one.
  private var latest: Ticket?

  init(bucket: TokenBucket, longestWait: Duration?) {
    self.bucket = bucket
    self.longestWait = longestWait
  }

  /// How many wait.
  var waitingCount: Int { nextTicket - head - gone.count }

  /// When the head is due; `nil` if nobody waits.
  var nextGrant: Duration? {
    waitingCount > 0 ? bucket.nextToken : nil
  }

  /// How many could go on at once.
  func tokens(at now: Duration) -> Int {
    waitingCount > 0 ? 0 : bucket.tokens(at: now)
  }

  func isWaiting(_ ticket: Ticket) -> Bool {
    ticket >= head && ticket < nextTicket && !gone.contains(ticket)
  }

  /// Somebody has come, after time has been told to have passed until then.
  mutating func arrived(at now: Duration) -> Admission {
    if waitingCount == 0, bucket.take(at: now) {
      latest = nil
      return .granted
    }
    guard let nextToken = bucket.nextToken else { return .refused(until: nil) }
    let grant = nextToken + bucket.interval * waitingCount
    if let longestWait, grant - now > longestWait { return .refused(until: grant) }
    defer { nextTicket += 1 }
    return .waiting(nextTicket)
  }

  /// Somebody does not want to wait any more. Those behind move up.
  mutating func left(_ ticket: Ticket) {
    guard isWaiting(ticket) else { return }
    gone.insert(ticket)
    skipGone()
  }

  /// A call that was granted is not made after all. Those who wait move up, unless somebody has gone on since: who comes next
  /// would come too soon after that one.
  mutating func callAbandoned(_ ticket: Ticket, at now: Duration) {
    guard latest == ticket else { return }
    bucket.add(oneOf: 1, at: now)
    latest = nil
  }

  /// Grants what is due by then, in order.
  @discardableResult
  mutating func timePassed(to now: Duration) -> [Ticket] {
    var granted: [Ticket] = []
    while let due = nextGrant, due <= now, bucket.take(at: due) {
      granted.append(head)
      latest = head
      head += 1
      skipGone()
    }
    return granted
  }

  private mutating func skipGone() {
    while gone.remove(head) != nil { head += 1 }
  }
}

/// Internal. Tokens that come back with time, one each interval, up to a capacity. It starts full.
///
/// All that it remembers is when it will be full again; instants are durations since some epoch. Every operation is O(1)
/// and exact: nothing is rounded but the interval, up to a nanosecond.
struct TokenBucket: Equatable {
  let capacity: Int
  /// How long one token takes to come back.
  let interval: Duration
  private var fullAt = Duration.zero - .longest

  /// - Parameters:
  ///   - capacity: The most tokens at once; at most 2^31 - 1.
  ///   - interval: How long one takes to come back. At zero the bucket is always full.
  init(capacity: Int, interval: Duration) {
    // The product of both has to stay within what a duration can hold.
    self.capacity = min(max(capacity, 0), Int(Int32.max))
    self.interval = interval.saturated.roundedUpToNanoseconds
  }

  /// The whole tokens that are there.
  func tokens(at now: Duration) -> Int {
    guard interval > .zero, fullAt > now else { return capacity }
    let missing = ((fullAt - now).attoseconds - 1) / interval.attoseconds + 1
    return capacity - Int(missing)
  }

  /// From when on there is a token, if none is taken before; `nil` if there never is.
  var nextToken: Duration? {
    capacity > 0 ? fullAt - interval * (capacity - 1) : nil
  }

  /// Takes a token. Says whether there was one.
  mutating func take(at now: Duration) -> Bool {
    guard let nextToken, nextToken <= now else { return false }
    fullAt = max(fullAt, now) + interval
    return true
  }

  /// Puts a part of a token in, which is lost if the bucket is full: `parts` of them are one.
  mutating func add(oneOf parts: Int, at now: Duration) {
    let part = Duration(attoseconds: interval.attoseconds / Int128(max(parts, 1)))
    fullAt = max(fullAt - part, now)
  }
}
