/// Internal. What a procedure is, whatever its types, in one object that its copies and its runs share.
///
/// Invariant: nothing of it or of its subclass changes.
@usableFromInline
class AnyProcedureWork: @unchecked Sendable {
  final let traits: ProcedureTraits
  /// What the outermost level needs before its body starts: whatever wraps it keeps its own.
  final let admission: Admission
  /// What is called when the outermost level comes to its end.
  final let hooks: RunHooks?
  /// Whether nothing has to happen around the body.
  final var isBare: Bool { traits.contents.limit == nil && hooks == nil }

  init(_ traits: ProcedureTraits, _ admission: Admission, _ hooks: RunHooks?) {
    (self.traits, self.admission, self.hooks) = (traits, admission, hooks)
  }
}

/// Internal. The same with the function that is executed.
///
/// Invariant: see ``AnyProcedureWork``.
@usableFromInline
final class ProcedureWork<Input: Sendable, Output: Sendable>: AnyProcedureWork, @unchecked Sendable {
  @usableFromInline let operation: @concurrent @Sendable (Input) async throws -> Output
  /// The same function, where it has no parameter, as it was given: each function on the way to it costs as much as a visit
  /// to a lock.
  @usableFromInline let plain: (@concurrent @Sendable () async throws -> Output)?

  init(
    _ traits: ProcedureTraits, _ admission: Admission, _ hooks: RunHooks?,
    _ operation: @escaping @concurrent @Sendable (Input) async throws -> Output,
    plain: (@concurrent @Sendable () async throws -> Output)? = nil
  ) {
    (self.operation, self.plain) = (operation, plain)
    super.init(traits, admission, hooks)
  }

  @inlinable @inline(__always)
  func callAsFunction(_ input: Input) async throws -> Output {
    if let plain { return try await plain() }
    return try await operation(input)
  }
}
