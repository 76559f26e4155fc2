/// Internal. The constants of a node's body that calls a function without arguments; see ``NodeMemory``.
@usableFromInline
struct FunctionOfNone<Output: Sendable>: Sendable {
  @usableFromInline let operation: @concurrent @Sendable (()) async throws -> Output
  @usableFromInline let output: ValueSlot<Output>

  @inlinable
  init(_ operation: @escaping @concurrent @Sendable (()) async throws -> Output, into output: ValueSlot<Output>) {
    (self.operation, self.output) = (operation, output)
  }
}

/// Internal. The constants for a function of one value.
@usableFromInline
struct FunctionOfOne<A: Sendable, Output: Sendable>: Sendable {
  @usableFromInline let operation: @concurrent @Sendable (A) async throws -> Output
  @usableFromInline let a: Node<A>.Source
  @usableFromInline let output: ValueSlot<Output>

  @inlinable
  init(
    _ operation: @escaping @concurrent @Sendable (A) async throws -> Output, _ a: Node<A>.Source,
    into output: ValueSlot<Output>
  ) {
    (self.operation, self.a, self.output) = (operation, a, output)
  }
}

/// Internal. The constants for a function of two values.
@usableFromInline
struct FunctionOfTwo<A: Sendable, B: Sendable, Output: Sendable>: Sendable {
  @usableFromInline let operation: @concurrent @Sendable (A, B) async throws -> Output
  @usableFromInline let a: Node<A>.Source
  @usableFromInline let b: Node<B>.Source
  @usableFromInline let output: ValueSlot<Output>

  @inlinable
  init(
    _ operation: @escaping @concurrent @Sendable (A, B) async throws -> Output, _ a: Node<A>.Source,
    _ b: Node<B>.Source, into output: ValueSlot<Output>
  ) {
    (self.operation, self.a, self.b, self.output) = (operation, a, b, output)
  }
}

/// Internal. The constants for a function of three values.
@usableFromInline
struct FunctionOfThree<A: Sendable, B: Sendable, C: Sendable, Output: Sendable>: Sendable {
  @usableFromInline let operation: @concurrent @Sendable (A, B, C) async throws -> Output
  @usableFromInline let a: Node<A>.Source
  @usableFromInline let b: Node<B>.Source
  @usableFromInline let c: Node<C>.Source
  @usableFromInline let output: ValueSlot<Output>

  @inlinable
  init(
    _ operation: @escaping @concurrent @Sendable (A, B, C) async throws -> Output, _ a: Node<A>.Source,
    _ b: Node<B>.Source, _ c: Node<C>.Source, into output: ValueSlot<Output>
  ) {
    (self.operation, self.a, self.b, self.c, self.output) = (operation, a, b, c, output)
  }
}

/// Internal. The constants for every other function.
struct AnyFunction: Sendable {
  let execute: @Sendable (ValueArena) async throws -> Void
}
