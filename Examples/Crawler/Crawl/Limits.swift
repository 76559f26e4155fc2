/// The limits of the downloads, which keep the crawler polite.
struct Limits: Equatable, Sendable {
  /// The number of downloads at a time.
  var jobs = 8
  /// The number of downloads from one host at a time.
  var perHost = 2
  /// The number of requests per second to one host.
  var rate = 5
  var attempts = 3
  /// The number of seconds that an attempt may take.
  var timeout = 8
  /// The number of seconds after which the program ends.
  var deadline: Int?
}
