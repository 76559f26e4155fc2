/// Traps with a message if a condition is false, even in release builds, where `precondition` does not print its message.
///
/// - Parameters:
///   - isRight: A condition that is `true` in correct code.
///   - message: A description of the mistake that includes the invalid value and the reason why it is invalid.
@usableFromInline
package func require(_ isRight: Bool, _ message: @autoclosure () -> String) {
  if !isRight { fatalError(message().inLines) }
}
