import Synchronization

/// The position of a value in the memory that one run of a graph uses.
///
/// The type is `package` because `ProcedureKitDurable` uses it.
@usableFromInline
package struct ValueSlot<Value>: Sendable {
  @usableFromInline package let index: Int32
  @usableFromInline package let offset: Int32

  @usableFromInline
  package init(index: Int32, offset: Int32) { (self.index, self.offset) = (index, offset) }
}

/// The memory layout of a type, and the function that destroys a value of the type.
@usableFromInline
struct ValueKind: Sendable {
  let size: Int
  let alignment: Int
  /// A function that destroys the value at an offset. It is `nil` for a trivial type, whose values need no destruction.
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

/// The values and counters of one run of a graph, in memory that workers access without a lock.
///
/// Invariant for values: the producer of a value writes the value to a slot once, and a consumer reads the slot only after the producer has
/// counted down the consumer's dependencies. A value of a nontrivial type has a counter. The counter is the number of consumers that have
/// neither taken the value nor given it up, plus `unproduced` until the value is written. The last consumer to count down takes the value
/// or destroys it.
///
/// Invariant for nodes: the counter of a node starts at the number of the node's dependencies. Each dependency subtracts one when it
/// ends, after its value or error is written. The last dependency makes the node ready, and the worker that executes the node sees
/// everything that the dependencies wrote. The counter of a skipped node is `skipped` or slightly less, so that no dependency counts it
/// down to zero. After a worker takes the node, the counter holds the node's stage: `executing`, `held` (the queue is suspended),
/// `executingAsRun` (a run was created for the body), `isRun` (the node has modifiers), or `ended`.
///
/// The class is `package` because `ProcedureKitDurable` uses it.
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
  /// The counters of the nodes, followed by the counters of the slots if consumers are counted, and finally the flags. The flags are bits:
  /// 1 if the graph is stopping, and 2 if nodes are counted in the progress when they end.
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

  /// Returns whether a type is trivial. The values of a trivial type need no destruction.
  @inlinable
  static func isBits<Value>(_ type: Value.Type) -> Bool { _isPOD(type) }

  /// Writes a value. The producer of the value calls this function once.
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

  /// Returns a consumer's copy of a value, or the error of a node that did not produce a value (D1).
  func takeResult<Value>(_ slot: ValueSlot<Value>) -> Result<Value, any Error> {
    guard let error = error(of: slot.index) else { return .success(take(slot)) }
    giveUpShare(of: slot.index)
    return .failure(error)
  }

  @usableFromInline
  func valueProduced(in slot: Int32) { countDown(slot, by: Self.unproduced) }

  /// Records that a consumer has copied the value, or will never take it (D3).
  @usableFromInline
  package func giveUpShare(of slot: Int32) {
    if layout.slots[Int(slot)].destroy != nil { countDown(slot, by: 1) }
  }

  /// Claims the value for the last consumer, which then moves it out of the slot. Returns `false` if there are other consumers.
  @usableFromInline
  func claimLastShare(of slot: Int32) -> Bool {
    guard counters[nodeCount + Int(slot)].load(ordering: .acquiring) == 1 else { return false }
    counters[nodeCount + Int(slot)].store(0, ordering: .relaxed)
    return true
  }

  /// Subtracts `shares` from the counter of a slot, and destroys the value when the counter reaches zero (D3).
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

  /// Whether the graph failed or was cancelled. If so, no further nodes start.
  var isStopping: Bool { counters[stopIndex].load(ordering: .acquiring) & 1 == 1 }

  /// Stops the graph, so no further nodes start.
  func stop() { counters[stopIndex].bitwiseOr(1, ordering: .releasing) }

  /// Whether a node is counted in the progress of the graph when it ends. If the value is `false` after a node ends, `countEnds` has not
  /// been called yet, and its caller will count the node.
  var countsEnds: Bool { counters[stopIndex].load(ordering: .sequentiallyConsistent) & 2 == 2 }

  /// Starts counting each node in the progress of the graph when it ends. The caller must count the nodes that have already ended.
  func countEnds() { counters[stopIndex].bitwiseOr(2, ordering: .sequentiallyConsistent) }

  /// Returns whether the body of a node has ended or the node was skipped.
  func hasEnded(_ node: Int32) -> Bool {
    let counter = counters[Int(node)].load(ordering: .sequentiallyConsistent)
    return counter == Self.ended || counter > Self.unproduced
  }

  /// Records that a dependency of a node has ended. Returns whether it was the last one.
  func dependencyEnded(of node: Int32) -> Bool {
    counters[Int(node)].subtract(1, ordering: .acquiringAndReleasing).newValue == 0
  }

  /// Marks a node as skipped and returns the previous value of its counter.
  func skip(_ node: Int32) -> Int32 {
    counters[Int(node)].exchange(Self.skipped, ordering: .acquiringAndReleasing)
  }

  /// Records that a worker is executing a node.
  func nodeTaken(_ node: Int32) { counters[Int(node)].store(Self.executing, ordering: .releasing) }

  /// Records that the worker of a node is waiting for the queue to be resumed (Q2).
  func nodeHeld(_ node: Int32) { counters[Int(node)].store(Self.held, ordering: .releasing) }

  /// Records that a worker will not execute the node that it took.
  func nodePutBack(_ node: Int32) { counters[Int(node)].store(0, ordering: .releasing) }

  /// Records that a node with modifiers became a run on the queue. Does nothing if a run has already been created for the node.
  func nodeBecameRun(_ node: Int32) {
    _ = counters[Int(node)].compareExchange(
      expected: Self.executing, desired: Self.isRun, ordering: .acquiringAndReleasing)
  }

  /// Marks an executing node as having a run. Returns `false` if the node already has a run or is not executing.
  func nodeNeedsRun(_ node: Int32) -> Bool {
    counters[Int(node)].compareExchange(
      expected: Self.executing, desired: Self.executingAsRun, ordering: .acquiringAndReleasing
    ).exchanged
  }

  /// Records that the body of a node ended. Returns whether a run was created for the node.
  func nodeEnded(_ node: Int32) -> Bool {
    counters[Int(node)].exchange(Self.ended, ordering: .sequentiallyConsistent) == Self.executingAsRun
  }

  /// The stage of a node without modifiers that a worker has taken.
  enum Stage {
    case executing, held
  }

  /// Returns the stage of a node. The result is `nil` if no worker has taken the node, if the node is executed as a run because it has
  /// modifiers, or if the node has ended.
  func stage(of node: Int32) -> Stage? {
    switch counters[Int(node)].load(ordering: .acquiring) {
    case Self.executing, Self.executingAsRun: .executing
    case Self.held: .held
    default: nil
    }
  }
}
