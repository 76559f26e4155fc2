/// How politely and how patiently is downloaded.
struct Limits: Equatable, Sendable {
  var jobs = 8
  var perHost = 2
  var attempts = 3
}
