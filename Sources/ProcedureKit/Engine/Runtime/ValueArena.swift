import Synchronization

/// Internal. Where a value lies in the memory of a graph's run.
@usableFromInline
struct ValueSlot<Value>: Sendable {
  @usableFromInline let index: Int32
  @usableFromInline let offset: Int

  @usableFromInline
  init(index: Int32, offset: Int) {
    self.index = index
    self.offset = offset
  }
}

/// Internal. Where each value of a graph lies, and how many take it; laid out once when the graph is built.
@usableFromInline
struct ValueLayout: Sendable {
  /// Destroys a value in place.
  @usableFromInline
  typealias Destroyer = @Sendable (UnsafeMutableRawPointer) -> Void

  private(set) var size = 0
  private(set) var alignment = 1
  private(set) var offsets: ContiguousArray<Int> = []
  /// How many take each value.
  private(set) var consumers: ContiguousArray<Int32> = []
  private(set) var destroyers: ContiguousArray<Destroyer> = []

  /// Lays out one more value.
  ///
  /// - Returns: The number of its slot, and where it lies.
  mutating func addSlot(size valueSize: Int, alignment step: Int, destroy: @escaping Destroyer) -> (Int32, Int) {
    let offset = (size + step - 1) / step * step
    size = offset + valueSize
    alignment = max(alignment, step)
    offsets.append(offset)
    consumers.append(0)
    destroyers.append(destroy)
    return (Int32(offsets.count - 1), offset)
  }

  mutating func addConsumer(of slot: Int32) {
    consumers[Int(slot)] += 1
  }
}

/// Internal. The values of one run of a graph, from when they are produced until their last consumer has taken them.
///
/// Invariant: each slot is owned by its producer and by each of its consumers, and counts them. The producer initialises
/// it before it gives its share up; a consumer reads it only after the producer has finished, which the lock of the graph's
/// progress orders, and before it gives its own share up. Whoever gives up the last share destroys the value. So a slot is
/// never read before it was written, nor after it was destroyed, and it is written once.
@usableFromInline
final class ValueArena: @unchecked Sendable {
  private let layout: ValueLayout
  @usableFromInline let memory: UnsafeMutableRawPointer
  private let shares: UnsafeMutablePointer<Atomic<Int32>>
  private let isPresent: UnsafeMutablePointer<Bool>
  private let errors = Mutex<[Int32: any Error]>([:])

  init(_ layout: ValueLayout) {
    self.layout = layout
    let count = layout.consumers.count
    memory = .allocate(byteCount: max(layout.size, 1), alignment: layout.alignment)
    shares = .allocate(capacity: count)
    isPresent = .allocate(capacity: count)
    isPresent.initialize(repeating: false, count: count)
    for slot in 0..<count { (shares + slot).initialize(to: Atomic(layout.consumers[slot] + 1)) }
  }

  deinit {
    for slot in layout.consumers.indices where isPresent[slot] { destroy(Int32(slot)) }
    shares.deinitialize(count: layout.consumers.count)
    shares.deallocate()
    isPresent.deallocate()
    memory.deallocate()
  }

  /// Stores a value, once, by its producer, which still has its share to give up.
  @inlinable
  func put<Value>(_ value: consuming Value, into slot: ValueSlot<Value>) {
    (memory + slot.offset).initializeMemory(as: Value.self, to: value)
    noteValue(in: slot.index)
  }

  /// A consumer's copy of a value; for the last consumer the value itself.
  @inlinable
  func take<Value>(_ slot: ValueSlot<Value>) -> Value {
    let pointer = (memory + slot.offset).assumingMemoryBound(to: Value.self)
    if claimLastShare(of: slot.index) { return pointer.move() }
    let value = pointer.pointee
    giveUpShare(of: slot.index)
    return value
  }

  /// A consumer's copy of a value, or the error of a node that did not produce any.
  @inlinable
  func takeResult<Value>(_ slot: ValueSlot<Value>) -> Result<Value, any Error> {
    if let error = error(of: slot.index) {
      giveUpShare(of: slot.index)
      return .failure(error)
    }
    return .success(take(slot))
  }

  /// A value has been stored.
  @usableFromInline
  func noteValue(in slot: Int32) {
    isPresent[Int(slot)] = true
  }

  /// Whether nobody else is to take this value, which the caller is to move out then.
  @usableFromInline
  func claimLastShare(of slot: Int32) -> Bool {
    guard shares[Int(slot)].load(ordering: .acquiring) == 1 else { return false }
    isPresent[Int(slot)] = false
    shares[Int(slot)].store(0, ordering: .relaxed)
    return true
  }

  /// Says that a producer or a consumer of this slot is done with it.
  @usableFromInline
  func giveUpShare(of slot: Int32) {
    let old = shares[Int(slot)].subtract(1, ordering: .acquiringAndReleasing).oldValue
    if old == 1, isPresent[Int(slot)] { destroy(slot) }
  }

  private func destroy(_ slot: Int32) {
    isPresent[Int(slot)] = false
    layout.destroyers[Int(slot)](memory + layout.offsets[Int(slot)])
  }

  /// Says why the producer of this slot does not produce; it still has its share to give up.
  func recordError(_ error: any Error, of slot: Int32) {
    errors.withLock { $0[slot] = error }
  }

  @usableFromInline
  func error(of slot: Int32) -> (any Error)? {
    errors.withLock { $0[slot] }
  }
}
