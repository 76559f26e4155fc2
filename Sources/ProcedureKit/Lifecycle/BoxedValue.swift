/// Internal. A type-erased value, for a reader that knows the type.
///
/// A `Void` value needs no allocation.
@usableFromInline
struct BoxedValue: Sendable {
  /// The allocated value; `nil` if, and only if, the value is `Void`.
  @usableFromInline let box: (any AnyObject & Sendable)?

  init(box: (any AnyObject & Sendable)?) {
    self.box = box
  }

  @inlinable
  init<Value: Sendable>(_ value: Value) {
    box = Value.self == Void.self ? nil : ValueBox(value)
  }

  /// Returns the value as `type`.
  ///
  /// Invariant: `type` is the type with which the value was boxed. One function that is generic over the type makes
  /// both a handle and the body of its run.
  @inlinable
  func unboxed<Value: Sendable>(_ type: Value.Type = Value.self) -> Value {
    guard let box else { return () as! Value }
    return unsafeDowncast(box, to: ValueBox<Value>.self).value
  }
}

/// Internal. The allocation of a ``BoxedValue``.
@usableFromInline
final class ValueBox<Value: Sendable>: Sendable {
  @usableFromInline let value: Value

  @inlinable
  init(_ value: Value) {
    self.value = value
  }
}
