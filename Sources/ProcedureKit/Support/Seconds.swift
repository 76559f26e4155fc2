/// A duration that is encoded as a number of seconds, such as `1.5`, with a resolution of one nanosecond.
struct Seconds: Codable {
  let duration: Duration

  init(_ duration: Duration) { self.duration = duration }

  /// Decodes a number of seconds. A number that exceeds the range of `Duration` is clamped to that range.
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let seconds: Double
    do {
      seconds = try container.decode(Double.self)
    } catch {
      // Version 0.9 encoded durations in the standard library's format, which is a pair of integers.
      guard let duration = try? container.decode(Duration.self) else { throw error }
      self.init(duration)
      return
    }
    guard !seconds.isNaN else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "a duration must be a number of seconds")
    }
    let nanoseconds = (seconds * 1e9).rounded()
    // A duration is a 128-bit number of attoseconds, which is at most 1.7014e29 nanoseconds.
    guard nanoseconds.magnitude < 1.7e29 else {
      self.init(Duration(attoseconds: seconds < 0 ? .min : .max))
      return
    }
    self.init(Duration(attoseconds: Int128(nanoseconds) * 1_000_000_000))
  }

  func encode(to encoder: any Encoder) throws {
    // Dividing a whole number of nanoseconds only once keeps `0.3` from becoming `0.30000000000000004`.
    let (nanoseconds, rest) = duration.attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    var container = encoder.singleValueContainer()
    try container.encode((Double(nanoseconds) + Double(rest) / 1e9) / 1e9)
  }
}
