/// Internal. Traps where a program is wrong in a way that cannot be an error, with a message that names the mistake, also in
/// release builds, where a precondition would say nothing.
///
/// - Parameters:
///   - isRight: What has to hold.
///   - message: What is wrong, with what, and why.
func require(_ isRight: Bool, _ message: @autoclosure () -> String) {
  if !isRight { fatalError(message()) }
}
