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
