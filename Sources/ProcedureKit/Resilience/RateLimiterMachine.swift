/// A state machine that decides when waiting calls can proceed, in order of arrival. Instants are durations since an arbitrary epoch.
///
/// A call that has to wait gets a ticket. A ticket counts as granted from the instant at which its token became available. Processing an
/// event late therefore does not postpone later tickets. Processing an event takes amortized O(1) time.
struct RateLimiterMachine {
  /// A number that identifies a ticket. Tickets are numbered in the order in which they are taken.
  typealias Ticket = Int

  enum Admission: Equatable {
    case granted
    /// The call is refused. `until` is the instant at which its token would become available; `nil` if no token ever will.
    case refused(until: Duration?)
    case waiting(Ticket)
  }

  private var bucket: TokenBucket
  /// The longest time that a call can wait; `nil` if there is no limit.
  private let longestWait: Duration?
  /// The ticket that is granted next.
  private(set) var head: Ticket = 0
  private var nextTicket: Ticket = 0
  /// The abandoned tickets behind the head.
  private var gone: Set<Ticket> = []
  /// The ticket that was granted most recently; `nil` if its token was returned, or if a call without a ticket has been admitted since.
  private var latest: Ticket?

  init(bucket: TokenBucket, longestWait: Duration?) {
    self.bucket = bucket
    self.longestWait = longestWait
  }

  /// The number of waiting calls.
  var waitingCount: Int { nextTicket - head - gone.count }

  /// The instant at which the head is granted; `nil` if no call is waiting.
  var nextGrant: Duration? {
    waitingCount > 0 ? bucket.nextToken : nil
  }

  /// Returns the number of calls that would be admitted immediately.
  func tokens(at now: Duration) -> Int {
    waitingCount > 0 ? 0 : bucket.tokens(at: now)
  }

  func isWaiting(_ ticket: Ticket) -> Bool {
    ticket >= head && ticket < nextTicket && !gone.contains(ticket)
  }

  /// Records that a call arrived.
  mutating func arrived(at now: Duration) -> Admission {
    timePassed(to: now)
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

  /// Records that a call stopped waiting. The calls behind it move up.
  mutating func left(_ ticket: Ticket) {
    guard isWaiting(ticket) else { return }
    gone.insert(ticket)
    skipGone()
  }

  /// Records that an admitted call will not be made.
  ///
  /// If no other call has been admitted since, the call's token is put back, and waiting calls move up. Otherwise, the token is lost,
  /// because putting it back would let the next call through too early.
  mutating func callAbandoned(_ ticket: Ticket, at now: Duration) {
    timePassed(to: now)
    guard latest == ticket else { return }
    bucket.add(oneOf: 1, at: now)
    latest = nil
  }

  /// Grants, in order, the tickets for which tokens have become available.
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

/// A token bucket that is initially full and gains one token in each interval, up to a capacity.
///
/// The bucket stores only the instant at which it will be full again. Instants are durations since an arbitrary epoch. Every operation
/// takes O(1) time. Times are exact, except that the interval is rounded up to a whole number of nanoseconds.
struct TokenBucket: Equatable {
  let capacity: Int
  /// The time that the bucket takes to gain one token.
  let interval: Duration
  private var fullAt = Duration.zero - .longest

  /// Creates a full bucket.
  ///
  /// - Parameters:
  ///   - capacity: The maximum number of tokens; at most 2^31 - 1.
  ///   - interval: The time that the bucket takes to gain one token. If the interval is zero, the bucket is always full.
  init(capacity: Int, interval: Duration) {
    // The product of the capacity and the interval must fit into a duration.
    self.capacity = min(max(capacity, 0), Int(Int32.max))
    self.interval = interval.saturated.roundedUpToNanoseconds
  }

  /// Returns the number of whole tokens.
  func tokens(at now: Duration) -> Int {
    guard interval > .zero, fullAt > now else { return capacity }
    let missing = ((fullAt - now).attoseconds - 1) / interval.attoseconds + 1
    return capacity - Int(missing)
  }

  /// The instant from which a token is available; `nil` if no token will ever be available.
  var nextToken: Duration? {
    capacity > 0 ? fullAt - interval * (capacity - 1) : nil
  }

  /// Takes a token. Returns whether a token was available.
  mutating func take(at now: Duration) -> Bool {
    guard let nextToken, nextToken <= now else { return false }
    fullAt = max(fullAt, now) + interval
    return true
  }

  /// Adds the fraction 1/`parts` of a token. The fraction is lost if the bucket is full.
  mutating func add(oneOf parts: Int, at now: Duration) {
    let part = Duration(attoseconds: interval.attoseconds / Int128(max(parts, 1)))
    fullAt = max(fullAt - part, now)
  }
}
