import Synchronization
import Testing

@testable import ProcedureKit

@Suite struct ValueArenaTests {
  private final class Value: Sendable {}

  /// An arena with one slot, whose value has so many consumers, and some that needs no counting beside it.
  private func arena(consumers: Int) -> (arena: ValueArena, slot: ValueSlot<Value>) {
    var layout = ValueLayout()
    let stride = MemoryLayout<Int>.stride
    _ = layout.addSlot(size: stride, alignment: stride, destroy: nil)
    let (index, offset) = layout.addSlot(size: stride, alignment: stride) { pointer in
      pointer.assumingMemoryBound(to: Value.self).deinitialize(count: 1)
    }
    layout.countConsumers(inputs: ContiguousArray(repeating: index * 2, count: consumers), output: nil)
    return (ValueArena(layout), ValueSlot(index: index, offset: offset))
  }

  @Test("D3: a value is released when the last of its consumers has taken it or will not", arguments: 1...4)
  func lastConsumer(_ consumers: Int) {
    let (arena, slot) = arena(consumers: consumers)
    var value: Value? = Value()
    weak let weakValue = value
    if let value { arena.put(value, into: slot) }
    value = nil
    for consumer in 0..<consumers {
      #expect(weakValue != nil)
      if consumer % 2 == 0 { _ = arena.take(slot) } else { arena.giveUpShare(of: slot.index) }
    }
    #expect(weakValue == nil)
  }

  @Test("D3: a value that nobody takes is not kept")
  func nobody() {
    let (arena, slot) = arena(consumers: 0)
    weak var weakValue: Value?
    do {
      let value = Value()
      weakValue = value
      arena.put(value, into: slot)
    }
    #expect(weakValue == nil)
    withExtendedLifetime(arena) {}
  }

  @Test("D3: what is left when a run ends early is released with the run")
  func leftOver() {
    weak var weakValue: Value?
    do {
      let (arena, slot) = arena(consumers: 2)
      let value = Value()
      weakValue = value
      arena.put(value, into: slot)
      _ = arena.take(slot)
      #expect(weakValue != nil)
    }
    #expect(weakValue == nil)
  }

  @Test("D3: a value that all of its consumers have given up before it was there is not kept", arguments: 1...2)
  func givenUpBefore(_ consumers: Int) {
    let (arena, slot) = arena(consumers: consumers)
    for _ in 0..<consumers { arena.giveUpShare(of: slot.index) }
    weak var weakValue: Value?
    do {
      let value = Value()
      weakValue = value
      arena.put(value, into: slot)
    }
    #expect(weakValue == nil)
    withExtendedLifetime(arena) {}
  }
}
