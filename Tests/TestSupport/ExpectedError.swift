public import Testing

/// Returns the error that an operation throws. Fails the test if the operation throws no error, or an error of another type.
///
/// Use this function instead of `#require(throws:)` for failed explorations. The macro describes each error that it receives, and the
/// description of a failed exploration contains the places of its steps, which take about a second to look up in the debug information.
///
/// - Parameters:
///   - type: The expected type of the error.
///   - comment: A comment for the failed test.
///   - sourceLocation: The location of the issue.
///   - operation: The operation.
/// - Returns: The error.
/// - Throws: `ErrorNotThrown` after recording an issue at the call.
@discardableResult
public func requireError<Failure: Error, Value>(
  _ type: Failure.Type, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
  _ operation: nonisolated(nonsending) () async throws -> Value
) async throws -> Failure {
  guard let error = await expectError(type, comment(), sourceLocation: sourceLocation, operation) else {
    throw ErrorNotThrown()
  }
  return error
}

/// Returns the error that an operation throws, or `nil` after recording an issue; see ``requireError(_:_:sourceLocation:_:)``.
@discardableResult
public func expectError<Failure: Error, Value>(
  _ type: Failure.Type, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
  _ operation: nonisolated(nonsending) () async throws -> Value
) async -> Failure? {
  // The comment may describe an earlier failure, so it is not evaluated unless it is needed.
  func record(_ text: String) {
    Issue.record(Comment(rawValue: (comment().map { "\($0): " } ?? "") + text), sourceLocation: sourceLocation)
  }
  do {
    _ = try await operation()
    record("no error was thrown, expected \(type)")
  } catch let error as Failure {
    return error
  } catch {
    record("expected \(type), got \(error)")
  }
  return nil
}

/// The error for an operation that did not throw the expected error. The issue has been recorded at the location of the call.
public struct ErrorNotThrown: Error {}
