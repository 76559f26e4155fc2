/// Internal. How long one level of a procedure may take. A class, so that it costs who has none a word.
final class TimeLimit: Sendable {
  /// From the start of the body.
  let timeout: Duration?
  /// For all of it, waits included.
  let deadline: Deadline?

  init(timeout: Duration?, deadline: Deadline?) {
    self.timeout = timeout
    self.deadline = deadline
  }
}
