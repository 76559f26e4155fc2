import Testing

@testable import ProcedureKit

/// A value comes out of its box as it went in, and is released with it.
@Suite struct BoxedValueTests {
  private final class Witness: Sendable {}

  @Test("Values of any size come out as they went in, Void without a box")
  func values() {
    #expect(BoxedValue(7).unboxed(Int.self) == 7)
    #expect(BoxedValue(["a", "b"]).unboxed([String].self) == ["a", "b"])
    #expect(BoxedValue((1, "two", 3.0)).unboxed((Int, String, Double).self) == (1, "two", 3.0))
    #expect(BoxedValue(Int?.none).unboxed(Int?.self) == nil)
    #expect(BoxedValue(()).box == nil)
    BoxedValue(()).unboxed(Void.self)
  }

  @Test("A handle gives the value of any type, and lets go of it with the last reference")
  func release() async throws {
    weak var witness: Witness?
    do {
      let handle = ProcedureQueue("boxes").add(ProcedureTask("witness") { Witness() })
      witness = try await handle.value
      #expect(witness != nil)
      _ = handle
    }
    #expect(witness == nil)
  }

  @Test("What has come of a run takes one word, as long as no case of it has an optional in it")
  func size() {
    #expect(MemoryLayout<DetachedRun.Stored>.size == MemoryLayout<UnsafeRawPointer>.size)
  }
}
