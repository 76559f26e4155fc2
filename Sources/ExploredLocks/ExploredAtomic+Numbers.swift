public import Synchronization

extension ExploredAtomic where Value: FixedWidthInteger {
  /// Adds `operand`, wrapping around on overflow.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func wrappingAdd(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update("wrappingAdd") { $0 &+ operand }
  }

  /// Subtracts `operand`, wrapping around on overflow.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func wrappingSubtract(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update("wrappingSubtract") { $0 &- operand }
  }

  /// Adds `operand`, trapping on overflow.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func add(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update("add") { $0 + operand }
  }

  /// Subtracts `operand`, trapping on overflow.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func subtract(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update("subtract") { $0 - operand }
  }

  /// Clears the bits that are not set in `operand`.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func bitwiseAnd(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update("bitwiseAnd") { $0 & operand }
  }

  /// Sets the bits that are set in `operand`.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func bitwiseOr(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update("bitwiseOr") { $0 | operand }
  }

  /// Flips the bits that are set in `operand`.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func bitwiseXor(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update("bitwiseXor") { $0 ^ operand }
  }

  /// Keeps the smaller of the value and `operand`.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func min(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update("min") { Swift.min($0, operand) }
  }

  /// Keeps the larger of the value and `operand`.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func max(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    update("max") { Swift.max($0, operand) }
  }
}

extension ExploredAtomic where Value == Bool {
  /// Sets the value to `false` if `operand` is `false`.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func logicalAnd(
    _ operand: Bool, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Bool, newValue: Bool) {
    update("logicalAnd") { $0 && operand }
  }

  /// Sets the value to `true` if `operand` is `true`.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func logicalOr(
    _ operand: Bool, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Bool, newValue: Bool) {
    update("logicalOr") { $0 || operand }
  }

  /// Flips the value if `operand` is `true`.
  ///
  /// - Returns: The values before and after the operation.
  @discardableResult
  public borrowing func logicalXor(
    _ operand: Bool, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Bool, newValue: Bool) {
    update("logicalXor") { $0 != operand }
  }
}
