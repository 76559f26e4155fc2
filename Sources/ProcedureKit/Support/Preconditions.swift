/// Traps with a message if a condition is false, even in release builds, where `precondition` does not print its message.
///
/// - Parameters:
///   - isRight: A condition that is `true` in correct code.
///   - message: A description of the mistake that includes the invalid value and the reason it is invalid.
@usableFromInline
package func require(_ isRight: Bool, _ message: @autoclosure () -> String) {
  if !isRight { fatalError(message().inLines) }
}

/// Traps with a message if a number is less than 1; see ``require(_:_:)``.
///
/// - Parameters:
///   - number: A number that is at least 1 in correct code.
///   - subject: The name of the number, preceded by the name of the object that it belongs to.
@usableFromInline
package func requirePositive(_ number: Int, _ subject: @autoclosure () -> String) {
  require(number >= 1, "\(subject()) must be at least 1, got \(number)")
}
