import Synchronization

/// Internal. The position of a value in the memory of a graph's run.
///
/// `package` for `ProcedureKitDurable`.
@usableFromInline
package struct ValueSlot<Value>: Sendable {
  @usableFromInline package let index: Int32
  @usableFromInline package let offset: Int32

  @usableFromInline
  package init(index: Int32, offset: Int32) { (self.index, self.offset) = (index, offset) }
}

/// Internal. The memory layout of a type, and how to destroy a value.
@usableFromInline
struct ValueKind: Sendable {
  let size: Int
  let alignment: Int
  /// Destroys the value at an offset; `nil` for a trivial type, whose values need no destruction.
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
/// Invariant of a value: the producer writes the slot once. A consumer reads the slot after the producer has counted down the consumer's
/// dependencies. A value of a nontrivial type has a counter: `unproduced` until the value is written, plus one for each consumer that has
/// neither taken the value nor given it up. The last consumer to count down takes the value or destroys it.
///
/// Invariant of a node: its counter starts at the number of dependencies. A dependency that settles subtracts one after its value or error
/// has been written. The last dependency releases the node, whose worker then sees everything that its dependencies wrote. The counter of a
/// skipped node is `skipped` or a little less, so that no dependency counts down to zero. After a worker has taken the node, the counter
/// holds the node's stage: `executing`, `held` (by the suspended queue), `executingAsRun` (a run was created for its body), `isRun` (the
/// node has more than a body), or `ended`.
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
  /// A counter for each node, followed by one for each slot if consumers are counted, and finally the flags: 1 if the graph is stopping, 2
  /// if ends are counted.
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

  /// Returns whether a type is trivial, in which case its values need no destruction.
  @inlinable
  static func isBits<Value>(_ type: Value.Type) -> Bool { _isPOD(type) }

  /// Writes a value. Its producer calls this once.
  @inlinable
  package func put<Value>(_ value: consuming Value, into slot: ValueSlot<Value>) {
    (memory + Int(slot.offset)).initializeMemory(as: Value.self, to: value)
    if !Self.isBits(Value.self) { valueProduced(in: slot.index) }
  }

  /// Returns a consumer's copy of a value. The last consumer receives the value itself (D3).
  @inlinable
  package func take<Value>(_ slot: ValueSlot<Value>) -> Value {
    let pointer = (memory + Int(slot.offset)).assumingMemoryBound(to: Value.self)
    if Self.isBits(Value.self) { return pointer.pointee }
    if claimLastShare(of: slot.index) { return pointer.move() }
    let value = pointer.pointee
    giveUpShare(of: slot.index)
    return value
  }

  /// Returns a consumer's copy of a value, or the error of a node that has produced no value (D1).
  func takeResult<Value>(_ slot: ValueSlot<Value>) -> Result<Value, any Error> {
    guard let error = error(of: slot.index) else { return .success(take(slot)) }
    giveUpShare(of: slot.index)
    return .failure(error)
  }

  @usableFromInline
  func valueProduced(in slot: Int32) { countDown(slot, by: Self.unproduced) }

  /// Counts down a consumer that has copied the value, or that will never take it (D3).
  @usableFromInline
  package func giveUpShare(of slot: Int32) {
    if layout.slots[Int(slot)].destroy != nil { countDown(slot, by: 1) }
  }

  /// Counts down the last consumer, which then moves the value out. Returns `false` if other consumers are left.
  @usableFromInline
  func claimLastShare(of slot: Int32) -> Bool {
    guard counters[nodeCount + Int(slot)].load(ordering: .acquiring) == 1 else { return false }
    counters[nodeCount + Int(slot)].store(0, ordering: .relaxed)
    return true
  }

  /// Counts down a slot, and destroys the value after the last consumer (D3).
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

  /// Records the error that explains why a slot has no value.
  func recordError(_ error: any Error, of slot: Int32) { errors.withLock { $0[slot] = error } }

  package func error(of slot: Int32) -> (any Error)? { errors.withLock { $0[slot] } }

  // MARK: Nodes

  /// Whether no further node starts, because the graph has failed or was cancelled.
  var isStopping: Bool { counters[stopIndex].load(ordering: .acquiring) & 1 == 1 }

  /// Stops the graph: no further node starts.
  func stop() { counters[stopIndex].bitwiseOr(1, ordering: .releasing) }

  /// Whether the ends of nodes are counted. A node that reads `false` ended before `countEnds` was called, and is counted by the caller of
  /// that function.
  var countsEnds: Bool { counters[stopIndex].load(ordering: .sequentiallyConsistent) & 2 == 2 }

  /// Starts counting the ends of nodes. The caller has to count the nodes that have already ended.
  func countEnds() { counters[stopIndex].bitwiseOr(2, ordering: .sequentiallyConsistent) }

  /// Returns whether the body of a node has ended, or the node is skipped.
  func hasEnded(_ node: Int32) -> Bool {
    let counter = counters[Int(node)].load(ordering: .sequentiallyConsistent)
    return counter == Self.ended || counter > Self.unproduced
  }

  /// Counts down one dependency of a node, and returns whether it was the last one.
  func dependencySettled(of node: Int32) -> Bool {
    counters[Int(node)].subtract(1, ordering: .acquiringAndReleasing).newValue == 0
  }

  /// Marks a node as skipped, and returns the previous counter.
  func skip(_ node: Int32) -> Int32 {
    counters[Int(node)].exchange(Self.skipped, ordering: .acquiringAndReleasing)
  }

  /// A worker has taken a node, and is now executing it.
  func nodeTaken(_ node: Int32) { counters[Int(node)].store(Self.executing, ordering: .releasing) }

  /// The worker of a node is waiting until the queue is resumed (Q2).
  func nodeHeld(_ node: Int32) { counters[Int(node)].store(Self.held, ordering: .releasing) }

  /// A worker will not execute the node that it has taken.
  func nodePutBack(_ node: Int32) { counters[Int(node)].store(0, ordering: .releasing) }

  /// A node with more than a body is now a run of the queue, unless a run has already been created for it.
  func nodeBecameRun(_ node: Int32) {
    _ = counters[Int(node)].compareExchange(
      expected: Self.executing, desired: Self.isRun, ordering: .acquiringAndReleasing)
  }

  /// Marks an executing node as having a run. Returns `false` if the node already has a run, or is not executing.
  func nodeNeedsRun(_ node: Int32) -> Bool {
    counters[Int(node)].compareExchange(
      expected: Self.executing, desired: Self.executingAsRun, ordering: .acquiringAndReleasing
    ).exchanged
  }

  /// The body of a node has ended. Returns whether a run was created for the node.
  func nodeEnded(_ node: Int32) -> Bool {
    counters[Int(node)].exchange(Self.ended, ordering: .sequentiallyConsistent) == Self.executingAsRun
  }

  /// The stage of a node that a worker has taken, and that has only a body.
  enum Stage {
    case executing, held
  }

  /// Returns the stage of a node; `nil` if no worker has taken the node, if it has more than a body and is a run, or if it has ended.
  func stage(of node: Int32) -> Stage? {
    switch counters[Int(node)].load(ordering: .acquiring) {
    case Self.executing, Self.executingAsRun: .executing
    case Self.held: .held
    default: nil
    }
  }
}
