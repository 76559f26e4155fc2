import Synchronization

/// Internal. Where a value lies in the memory of a graph's run.
///
/// `package` for `ProcedureKitDurable`.
@usableFromInline
package struct ValueSlot<Value>: Sendable {
  @usableFromInline package let index: Int32
  @usableFromInline package let offset: Int32

  @usableFromInline
  package init(index: Int32, offset: Int32) { (self.index, self.offset) = (index, offset) }
}

/// Internal. How much memory a value of a type takes, and how a value is destroyed.
@usableFromInline
struct ValueKind: Sendable {
  let size: Int
  let alignment: Int
  /// Destroys the value at an offset. `nil` for a type whose values are nothing but bits.
  let destroy: (@Sendable (GraphValues, Int32) -> Void)?
  let type: Any.Type

  @usableFromInline
  init(size: Int, alignment: Int, destroy: (@Sendable (GraphValues, Int32) -> Void)?, type: Any.Type) {
    (self.size, self.alignment, self.destroy, self.type) = (size, alignment, destroy, type)
  }

  @inlinable
  init<Value>(of type: Value.Type) {
    let destroy: @Sendable (GraphValues, Int32) -> Void = { $0.destroy(Value.self, at: $1) }
    let isBits = GraphValues.isBits(Value.self)
    let (size, alignment) = (MemoryLayout<Value>.size, MemoryLayout<Value>.alignment)
    self.init(size: size, alignment: alignment, destroy: isBits ? nil : destroy, type: Value.self)
  }
}

/// Internal. The values and counters of one run of a graph, in memory that workers read and write without a lock.
///
/// Invariant of a value: the producer writes the slot once. A consumer reads the slot after the producer has counted down the
/// consumer's dependencies. A value that is more than bits has a counter: `unproduced` until the value is written, plus one for each
/// consumer that has neither taken the value nor given the value up. The last to count down destroys the value, or takes the value.
///
/// Invariant of a node: `missing` starts as the number of dependencies. A dependency that has settled subtracts one, after the
/// dependency's value or error has been written; the last one releases the node, and sees everything written before. A skipped node has
/// `skipped`, or a little less, so that no dependency counts down to zero. Once a worker has taken the node, the counter tells whether
/// the node executes, is held by a suspended queue, executes and has a run, is a run of its own, or has ended.
///
/// `package` for `ProcedureKitDurable`.
@usableFromInline
package final class GraphValues: @unchecked Sendable {
  private static let unproduced: Int32 = 1 << 30
  private static let skipped: Int32 = .max
  private static let executing: Int32 = -1
  private static let executingAsRun: Int32 = -2
  private static let ended: Int32 = -3
  private static let held: Int32 = -4
  private static let isRun: Int32 = -5

  private let layout: ValueLayout
  private let nodeCount: Int
  private let stopIndex: Int
  @usableFromInline let memory: UnsafeMutableRawPointer
  /// A counter for each node, then one for each slot if consumers are counted, and at last a 1 if nothing more starts, and a 2 if ends are counted.
  private let counters: UnsafeMutablePointer<Atomic<Int32>>
  private let errors = Mutex<[Int32: any Error]>([:])

  init(_ layout: ValueLayout, dependencyCounts: ContiguousArray<Int32>) {
    self.layout = layout
    nodeCount = dependencyCounts.count
    memory = .allocate(byteCount: max(layout.size, 1), alignment: layout.alignment)
    let consumers = layout.countsConsumers ? layout.slots.map { Self.unproduced + $0.consumers } : []
    let initial = dependencyCounts + consumers + [0]
    stopIndex = initial.count - 1
    counters = .allocate(capacity: initial.count)
    for (index, value) in initial.enumerated() { (counters + index).initialize(to: Atomic(value)) }
  }

  deinit {
    if layout.countsConsumers {
      for slot in layout.slots.indices
      where (1..<Self.unproduced).contains(counters[nodeCount + slot].load(ordering: .acquiring)) {
        destroy(Int32(slot))
      }
    }
    counters.deallocate()
    memory.deallocate()
  }

  // MARK: Values

  /// Returns whether values of a type need no destruction.
  @inlinable
  static func isBits<Value>(_ type: Value.Type) -> Bool { _isPOD(type) }

  /// Writes a value, once, by the value's producer.
  @inlinable
  package func put<Value>(_ value: consuming Value, into slot: ValueSlot<Value>) {
    (memory + Int(slot.offset)).initializeMemory(as: Value.self, to: value)
    if !Self.isBits(Value.self) { valueProduced(in: slot.index) }
  }

  /// Returns a consumer's copy of a value; the last consumer gets the value itself.
  @inlinable
  package func take<Value>(_ slot: ValueSlot<Value>) -> Value {
    let pointer = (memory + Int(slot.offset)).assumingMemoryBound(to: Value.self)
    if Self.isBits(Value.self) { return pointer.pointee }
    if claimLastShare(of: slot.index) { return pointer.move() }
    let value = pointer.pointee
    giveUpShare(of: slot.index)
    return value
  }

  /// Returns a consumer's copy of a value, or the error of a node that has not produced a value.
  func takeResult<Value>(_ slot: ValueSlot<Value>) -> Result<Value, any Error> {
    guard let error = error(of: slot.index) else { return .success(take(slot)) }
    giveUpShare(of: slot.index)
    return .failure(error)
  }

  @usableFromInline
  func valueProduced(in slot: Int32) { countDown(slot, by: Self.unproduced) }

  /// Counts a consumer down that has taken a copy of the value, or that will never take the value.
  @usableFromInline
  package func giveUpShare(of slot: Int32) {
    if layout.slots[Int(slot)].destroy != nil { countDown(slot, by: 1) }
  }

  /// Counts the last consumer down, who moves the value out. Returns `false` for any other consumer.
  @usableFromInline
  func claimLastShare(of slot: Int32) -> Bool {
    guard counters[nodeCount + Int(slot)].load(ordering: .acquiring) == 1 else { return false }
    counters[nodeCount + Int(slot)].store(0, ordering: .relaxed)
    return true
  }

  private func countDown(_ slot: Int32, by shares: Int32) {
    if counters[nodeCount + Int(slot)].subtract(shares, ordering: .acquiringAndReleasing).newValue == 0 {
      destroy(slot)
    }
  }

  private func destroy(_ slot: Int32) {
    layout.slots[Int(slot)].destroy?(self, layout.slots[Int(slot)].offset)
  }

  @inlinable
  func destroy<Value>(_ type: Value.Type, at offset: Int32) {
    (memory + Int(offset)).assumingMemoryBound(to: Value.self).deinitialize(count: 1)
  }

  /// Records why the producer of a slot has not produced a value.
  func recordError(_ error: any Error, of slot: Int32) { errors.withLock { $0[slot] = error } }

  package func error(of slot: Int32) -> (any Error)? { errors.withLock { $0[slot] } }

  // MARK: Nodes

  /// Whether nothing more starts, because the graph failed or was cancelled.
  var isStopping: Bool { counters[stopIndex].load(ordering: .acquiring) & 1 == 1 }

  /// Nothing more starts.
  func stop() { counters[stopIndex].bitwiseOr(1, ordering: .releasing) }

  /// Whether the ends of nodes are counted. A node that does not see this has ended before, and is seen as such by the caller of `countEnds`.
  var countsEnds: Bool { counters[stopIndex].load(ordering: .sequentiallyConsistent) & 2 == 2 }

  func countEnds() { counters[stopIndex].bitwiseOr(2, ordering: .sequentiallyConsistent) }

  /// Whether the body of a node has ended, or the node is skipped.
  func hasEnded(_ node: Int32) -> Bool {
    let counter = counters[Int(node)].load(ordering: .sequentiallyConsistent)
    return counter == Self.ended || counter > Self.unproduced
  }

  /// Counts one dependency of a node down, and returns whether the dependency was the last one.
  func dependencySettled(of node: Int32) -> Bool {
    counters[Int(node)].subtract(1, ordering: .acquiringAndReleasing).newValue == 0
  }

  /// Marks a node that will not be executed, and returns the previous counter.
  func skip(_ node: Int32) -> Int32 {
    counters[Int(node)].exchange(Self.skipped, ordering: .acquiringAndReleasing)
  }

  /// A worker has taken a node, which executes from now on.
  func nodeTaken(_ node: Int32) { counters[Int(node)].store(Self.executing, ordering: .releasing) }

  /// The worker of a node waits for the queue to be resumed.
  func nodeHeld(_ node: Int32) { counters[Int(node)].store(Self.held, ordering: .releasing) }

  /// A worker does not execute the node that it has taken.
  func nodePutBack(_ node: Int32) { counters[Int(node)].store(0, ordering: .releasing) }

  /// A node that has more than a body is a run of the queue from now on, unless it has another run already.
  func nodeBecameRun(_ node: Int32) {
    _ = counters[Int(node)].compareExchange(
      expected: Self.executing, desired: Self.isRun, ordering: .acquiringAndReleasing)
  }

  /// Returns whether a node executes, and has no run so far; the node has a run from now on.
  func nodeNeedsRun(_ node: Int32) -> Bool {
    counters[Int(node)].compareExchange(
      expected: Self.executing, desired: Self.executingAsRun, ordering: .acquiringAndReleasing
    ).exchanged
  }

  /// The body of a node has ended. Returns whether the node has a run.
  func nodeEnded(_ node: Int32) -> Bool {
    counters[Int(node)].exchange(Self.ended, ordering: .sequentiallyConsistent) == Self.executingAsRun
  }

  /// What a node does that a worker has taken, and that is no run of the queue with more than a body.
  enum Stage {
    case executing, held
  }

  /// Returns what a node does; `nil` if no worker has taken the node, if the node is a run, and if it has ended.
  func stage(of node: Int32) -> Stage? {
    switch counters[Int(node)].load(ordering: .acquiring) {
    case Self.executing, Self.executingAsRun: .executing
    case Self.held: .held
    default: nil
    }
  }
}
