/// Internal. Traps with a message on a programming error, even in release builds, in which a `precondition` prints no message.
///
/// - Parameters:
///   - isRight: The condition that a correct program meets.
///   - message: The mistake, the value concerned, and the reason.
package func require(_ isRight: Bool, _ message: @autoclosure () -> String) {
  if !isRight { fatalError(message().inLines) }
}
