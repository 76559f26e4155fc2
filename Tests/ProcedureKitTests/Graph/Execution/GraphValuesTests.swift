import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite(.timeLimit(.atDepth)) struct GraphValuesTests {
  /// A value that counts the existing values of its kind.
  private final class Value: Sendable {
    let number: Int
    private let liveValues: Count

    init(_ number: Int, _ liveValues: Count) {
      (self.number, self.liveValues) = (number, liveValues)
      liveValues.value.add(1, ordering: .relaxed)
    }

    deinit { liveValues.value.subtract(1, ordering: .relaxed) }
  }

  private final class Count: Sendable {
    let value = Atomic(0)

    var now: Int { value.load(ordering: .relaxed) }
  }

  /// Creates the values of a run whose slots have the given numbers of consumers. Before each slot is a byte, which is not counted.
  private func values(consumers: [Int]) -> (values: GraphValues, slots: [ValueSlot<Value>], bytes: [ValueSlot<UInt8>]) {
    var layout = ValueLayout()
    var (slots, bytes): ([ValueSlot<Value>], [ValueSlot<UInt8>]) = ([], [])
    var inputs: ContiguousArray<Int32> = []
    for count in consumers {
      let byte = layout.addSlot(for: ValueKind(of: UInt8.self))
      let slot = layout.addSlot(for: ValueKind(of: Value.self))
      bytes.append(ValueSlot(index: byte.index, offset: byte.offset))
      slots.append(ValueSlot(index: slot.index, offset: slot.offset))
      inputs += ContiguousArray(repeating: slot.index * 2, count: count)
    }
    layout.countConsumers(inputs: inputs, outputs: [])
    return (GraphValues(layout, dependencyCounts: [0, 2]), slots, bytes)
  }

  @Test(
    "In any order of events, a value lives until its last consumer has taken it or given it up",
    arguments: 0..<UInt64(TestDepth.count(40, least: 8)))
  func model(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let liveValues = Count()
    do {
      let consumers = (0..<20).map { _ in Int.random(in: 0...4, using: &random) }
      let (values, slots, bytes) = values(consumers: consumers)
      // For each slot, these are whether the value has been produced, and the number of remaining consumers.
      var model = consumers.map { (isProduced: false, left: $0) }
      for _ in 0..<200 {
        let index = Int.random(in: 0..<20, using: &random)
        if !model[index].isProduced, Bool.random(using: &random) {
          values.put(UInt8(index), into: bytes[index])
          values.put(Value(index, liveValues), into: slots[index])
          model[index].isProduced = true
        } else if model[index].left > 0 {
          if model[index].isProduced, Bool.random(using: &random) {
            #expect(values.take(slots[index]).number == index && values.take(bytes[index]) == index, "seed \(seed)")
          } else {
            values.giveUpShare(of: slots[index].index)
          }
          model[index].left -= 1
        }
        #expect(liveValues.now == model.count { $0.isProduced && $0.left > 0 }, "seed \(seed)")
      }
    }
    #expect(liveValues.now == 0, "seed \(seed)")
  }

  @Test("Consumers that take a value at the same time all get the value, and the last releases the value")
  func race() async {
    let liveValues = Count()
    for round in 0..<200 {
      let (values, slots, _) = values(consumers: [4])
      values.put(Value(round, liveValues), into: slots[0])
      await withTaskGroup { group in
        for consumer in 0..<4 {
          group.addTask {
            if consumer == 3, round % 2 == 0 { return values.giveUpShare(of: slots[0].index) }
            #expect(values.take(slots[0]).number == round)
          }
        }
      }
      #expect(liveValues.now == 0)
      withExtendedLifetime(values) {}
    }
  }

  @Test("Consumers that give up while the value is being produced leave nothing behind")
  func raceWithProducer() async {
    let liveValues = Count()
    for round in 0..<200 {
      let (values, slots, _) = values(consumers: [2])
      await withTaskGroup { group in
        for _ in 0..<2 { group.addTask { values.giveUpShare(of: slots[0].index) } }
        group.addTask { values.put(Value(round, liveValues), into: slots[0]) }
      }
      #expect(liveValues.now == 0)
      withExtendedLifetime(values) {}
    }
  }

  @Test("A consumer that accepts a failure gets the error, and otherwise the value")
  func results() throws {
    let (values, slots, _) = values(consumers: [1, 1])
    values.put(Value(7, Count()), into: slots[0])
    values.recordError(CancellationError(), of: slots[1].index)
    #expect(try values.takeResult(slots[0]).get().number == 7)
    #expect(throws: CancellationError.self) { try values.takeResult(slots[1]).get() }
  }

  @Test("The functions of a graph, and their captures, are released with the graph")
  func captured() async throws {
    let liveValues = Count()
    do {
      let value = Value(1, liveValues)
      let graph = ProcedureGraph<Int, Int> { g, input in
        let one = g.add("one", from: input) { [value] in $0 + value.number }
        let two = g.add("two", from: one, input) { [value] a, b in a + b + value.number - 1 }
        return g.add(ProcedureTask("three") { [value] in $0 * 2 * value.number }, from: two)
      }
      #expect(try await graph.execute(3) == 14)
      #expect(liveValues.now == 1)
    }
    #expect(liveValues.now == 0)
  }
}
