public import Synchronization

/// An atomic value whose operations are points at which an exploration can switch tasks.
///
/// To opt in, a module declares a type alias that is compiled only in test builds. The alias shadows the type of the same name in
/// `Synchronization`:
///
/// ```swift
/// typealias Atomic = ExploredAtomic
/// ```
///
/// During an exploration by `TestingProcedureKit`, any ready task can run before each operation. A task that performs twenty operations in
/// a row yields to other tasks, so that a loop waiting for another task can end.
///
/// **Memory orderings** are accepted but ignored. Every operation is sequentially consistent, so an exploration does not find bugs caused
/// by weaker orderings. Unlike an `Atomic`, this type guards its value with a lock, even outside an exploration.
public struct ExploredAtomic<Value: AtomicRepresentable & Sendable>: ~Copyable, Sendable {
  private let value: Mutex<Value>
  private let location: CodeLocation

  /// Creates an atomic value.
  ///
  /// - Parameters:
  ///   - initialValue: The initial value.
  ///   - fileID: The file that identifies the atomic value in reports.
  ///   - line: The line that identifies the atomic value in reports.
  public init(_ initialValue: consuming Value, fileID: StaticString = #fileID, line: UInt = #line) {
    value = Mutex(initialValue)
    location = CodeLocation(fileID: fileID, line: line)
  }

  /// Lets other tasks run and then performs one operation.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  borrowing func update(_ operation: StaticString, _ change: (Value) -> Value) -> (oldValue: Value, newValue: Value) {
    LockSchedules.current?.willPerform(operation, on: location)
    return value.withLock { value in
      let old = value
      value = change(old)
      return (old, value)
    }
  }

  /// Returns the value.
  public borrowing func load(ordering: AtomicLoadOrdering) -> Value {
    update("load") { $0 }.oldValue
  }

  /// Replaces the value.
  public borrowing func store(_ desired: consuming Value, ordering: AtomicStoreOrdering) {
    let desired = desired
    update("store") { _ in desired }
  }

  /// Replaces the value.
  ///
  /// - Returns: The previous value.
  public borrowing func exchange(_ desired: consuming Value, ordering: AtomicUpdateOrdering) -> Value {
    let desired = desired
    return update("exchange") { _ in desired }.oldValue
  }
}

extension ExploredAtomic where Value: Equatable {
  /// Replaces the value with `desired` if the value equals `expected`. The values are compared with `==`, whereas an `Atomic` compares
  /// their bits.
  ///
  /// - Returns: Whether the value was replaced, and the previous value.
  public borrowing func compareExchange(
    expected: consuming Value, desired: consuming Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    let (expected, desired) = (expected, desired)
    let original = update("compareExchange") { $0 == expected ? desired : $0 }.oldValue
    return (original == expected, original)
  }

  /// Replaces the value with `desired` if the value equals `expected`.
  ///
  /// - Returns: Whether the value was replaced, and the previous value.
  public borrowing func compareExchange(
    expected: consuming Value, desired: consuming Value, successOrdering: AtomicUpdateOrdering,
    failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected: expected, desired: desired, ordering: successOrdering)
  }

  /// Replaces the value with `desired` if the value equals `expected`. Unlike its counterpart in `Atomic`, this function never fails
  /// spuriously.
  ///
  /// - Returns: Whether the value was replaced, and the previous value.
  public borrowing func weakCompareExchange(
    expected: consuming Value, desired: consuming Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected: expected, desired: desired, ordering: ordering)
  }

  /// Replaces the value with `desired` if the value equals `expected`. Unlike its counterpart in `Atomic`, this function never fails
  /// spuriously.
  ///
  /// - Returns: Whether the value was replaced, and the previous value.
  public borrowing func weakCompareExchange(
    expected: consuming Value, desired: consuming Value, successOrdering: AtomicUpdateOrdering,
    failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected: expected, desired: desired, ordering: successOrdering)
  }
}
