import Synchronization
import Testing

@testable import ProcedureKit

@Suite struct NodeMemoryTests {
  /// Counts how many of it there are.
  private final class Living: Sendable {
    private let count: Count

    init(_ count: Count) {
      self.count = count
      count.value.add(1, ordering: .relaxed)
    }

    deinit { count.value.subtract(1, ordering: .relaxed) }
  }

  private final class Count: Sendable {
    let value = Atomic(0)
  }

  /// As large as a piece of memory and more.
  private struct Large: Sendable {
    var bytes: InlineArray<100_000, UInt8> = InlineArray(repeating: 7)
    let living: Living
  }

  @Test("What is stored stays where it is, aligned and unchanged, and is destroyed once, with the memory")
  func stored() {
    let count = Count()
    var memory: NodeMemory? = NodeMemory()
    var pointers: [UnsafePointer<(UInt8, Living)>] = []
    var numbers: [UnsafePointer<UInt64>] = []
    for number in 0..<5_000 {
      if let memory {
        pointers.append(memory.store((UInt8(truncatingIfNeeded: number), Living(count))))
        // Now and then something else between, so that the runs of one type end.
        if number % 7 == 0 { numbers.append(memory.store(UInt64(number))) }
      }
    }
    #expect(pointers.indices.allSatisfy { pointers[$0].pointee.0 == UInt8(truncatingIfNeeded: $0) })
    #expect(numbers.indices.allSatisfy { numbers[$0].pointee == UInt64($0 * 7) })
    #expect(numbers.allSatisfy { Int(bitPattern: $0) % MemoryLayout<UInt64>.alignment == 0 })
    #expect(count.value.load(ordering: .relaxed) == 5_000)
    memory = nil
    #expect(count.value.load(ordering: .relaxed) == 0)
  }

  @Test("What is larger than a piece of memory gets one of its own")
  func large() {
    let count = Count()
    var memory: NodeMemory? = NodeMemory()
    if let memory {
      let pointers = (0..<3).map { _ in memory.store(Large(living: Living(count))) }
      let small = memory.store(UInt8(1))
      #expect(pointers.allSatisfy { $0.pointee.bytes[99_999] == 7 } && small.pointee == 1)
    }
    #expect(count.value.load(ordering: .relaxed) == 3)
    memory = nil
    #expect(count.value.load(ordering: .relaxed) == 0)
  }

  @Test("What a graph's functions have captured is released with the graph")
  func captured() async throws {
    let count = Count()
    do {
      let living = Living(count)
      let graph = ProcedureGraph<Int, Int> { g, input in
        let one = g.add("one", from: input) { [living] in
          withExtendedLifetime(living) { _ in }
          return $0 + 1
        }
        let two = g.add("two", from: one, input) { [living] a, b in
          withExtendedLifetime(living) { _ in }
          return a + b
        }
        return g.add(
          ProcedureTask("three") { [living] in
            withExtendedLifetime(living) { _ in }
            return $0 * 2
          }, from: two)
      }
      #expect(try await graph.execute(3) == 14)
      #expect(count.value.load(ordering: .relaxed) == 1)
    }
    #expect(count.value.load(ordering: .relaxed) == 0)
  }
}
