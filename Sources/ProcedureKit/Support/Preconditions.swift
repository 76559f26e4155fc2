/// Traps with a message on a programming error, even in release builds, in which a `precondition` prints no message.
///
/// - Parameters:
///   - isRight: A condition that is `true` in correct code.
///   - message: A description of the mistake, with the value concerned and the reason.
@usableFromInline
package func require(_ isRight: Bool, _ message: @autoclosure () -> String) {
  if !isRight { fatalError(message().inLines) }
}
