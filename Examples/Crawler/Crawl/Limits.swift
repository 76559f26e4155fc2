/// The limits for the downloads, which keep the crawler polite.
struct Limits: Equatable, Sendable {
  /// The maximum number of downloads at a time.
  var jobs = 8
  /// The maximum number of downloads from one host at a time.
  var perHost = 2
  /// The maximum number of requests per second to one host.
  var rate = 5
  var attempts = 3
  /// The time limit for an attempt, in seconds.
  var timeout = 8
  /// The time after which the program ends, in seconds.
  var deadline: Int?
}
