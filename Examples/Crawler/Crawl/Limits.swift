/// The limits that keep the crawler polite.
struct Limits: Equatable, Sendable {
  /// The maximum number of simultaneous downloads.
  var jobs = 8
  /// The maximum number of simultaneous downloads from one host.
  var perHost = 2
  /// The maximum number of requests per second to one host.
  var rate = 5
  var attempts = 3
  /// The time limit for an attempt, in seconds.
  var timeout = 8
  /// The time after which the program ends, in seconds.
  var deadline: Int?
}
