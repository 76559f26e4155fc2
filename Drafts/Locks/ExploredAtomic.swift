import Synchronization

/// An `Atomic` whose operations are scheduling choices within an exploration.
///
/// Code opts in by a type alias, in a build for tests only:
///
/// ```swift
/// typealias Atomic = ExploredAtomic
/// ```
///
/// Before each operation, every ready job can run first. All operations are sequentially consistent, whatever their
/// ordering: an exploration finds no bug of a weaker ordering. The value is guarded by a lock, within explorations and
/// outside.
public struct ExploredAtomic<Value: AtomicRepresentable & Sendable>: ~Copyable, Sendable {
  private let value: Mutex<Value>

  /// Makes an atomic value.
  public init(_ initialValue: Value) {
    value = Mutex(initialValue)
  }

  /// Performs one operation, after the other ready jobs were offered the turn.
  ///
  /// - Returns: The value before and after the operation.
  @discardableResult
  private borrowing func update(_ change: (Value) -> Value) -> (oldValue: Value, newValue: Value) {
    ScheduleExecutor.current?.offerTurn()
    return value.withLock { value in
      let old = value
      value = change(old)
      return (old, value)
    }
  }

  /// Returns the value.
  public borrowing func load(ordering: AtomicLoadOrdering) -> Value {
    update { $0 }.oldValue
  }

  /// Replaces the value.
  public borrowing func store(_ desired: consuming Value, ordering: AtomicStoreOrdering) {
    let desired = desired
    update { _ in desired }
  }

  /// Replaces the value, and returns the value before.
  public borrowing func exchange(_ desired: consuming Value, ordering: AtomicUpdateOrdering) -> Value {
    let desired = desired
    return update { _ in desired }.oldValue
  }
}

extension ExploredAtomic where Value: Equatable {
  /// Replaces the value by `desired` if the value is `expected`.
  ///
  /// - Returns: Whether the value was replaced, and the value before.
  public borrowing func compareExchange(
    expected: consuming Value, desired: consuming Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    let (expected, desired) = (expected, desired)
    let old = update { $0 == expected ? desired : $0 }.oldValue
    return (old == expected, old)
  }

  /// Replaces the value by `desired` if the value is `expected`. In contrast to an `Atomic`, the operation never fails
  /// without reason.
  ///
  /// - Returns: Whether the value was replaced, and the value before.
  public borrowing func weakCompareExchange(
    expected: consuming Value, desired: consuming Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected: expected, desired: desired, ordering: ordering)
  }
}

extension ExploredAtomic where Value: FixedWidthInteger {
  /// Adds `operand`, and wraps around on overflow.
  ///
  /// - Returns: The value before and after.
  @discardableResult
  public borrowing func wrappingAdd(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update { $0 &+ operand }
  }

  /// Subtracts `operand`, and wraps around on overflow.
  ///
  /// - Returns: The value before and after.
  @discardableResult
  public borrowing func wrappingSubtract(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update { $0 &- operand }
  }

  /// Adds `operand`. Traps on overflow.
  ///
  /// - Returns: The value before and after.
  @discardableResult
  public borrowing func add(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update { $0 + operand }
  }

  /// Subtracts `operand`. Traps on overflow.
  ///
  /// - Returns: The value before and after.
  @discardableResult
  public borrowing func subtract(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update { $0 - operand }
  }
}
