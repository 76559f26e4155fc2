/// How politely and how patiently is downloaded.
struct Limits: Equatable, Sendable {
  /// How many downloads go on at once.
  var jobs = 8
  /// How many downloads from one host go on at once.
  var perHost = 2
  /// How many requests in a second one host gets.
  var rate = 5
  var attempts = 3
  /// How many seconds an attempt may take.
  var timeout = 8
  /// After how many seconds everything ends.
  var deadline: Int?
}
