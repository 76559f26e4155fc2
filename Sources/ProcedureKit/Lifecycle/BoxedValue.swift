/// Internal. A value of any type, which whoever reads it knows.
///
/// Nothing is allocated for `Void`, nor shared between all who have it.
@usableFromInline
struct BoxedValue: Sendable {
  /// `nil` for `Void`, and only for that.
  @usableFromInline let box: (any AnyObject & Sendable)?

  init(box: (any AnyObject & Sendable)?) {
    self.box = box
  }

  @inlinable
  init<Value: Sendable>(_ value: Value) {
    box = Value.self == Void.self ? nil : ValueBox(value)
  }

  /// The value. Invariant: it has the type with which it was boxed; a handle and the body of its run are made together, by
  /// one function that is generic over that type.
  @inlinable
  func unboxed<Value: Sendable>(_ type: Value.Type = Value.self) -> Value {
    guard let box else { return () as! Value }
    return unsafeDowncast(box, to: ValueBox<Value>.self).value
  }
}

/// Internal. See ``BoxedValue``.
@usableFromInline
final class ValueBox<Value: Sendable>: Sendable {
  @usableFromInline let value: Value

  @inlinable
  init(_ value: Value) {
    self.value = value
  }
}
