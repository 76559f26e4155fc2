import Synchronization

/// Internal. Where a value lies in the memory of a graph's run.
@usableFromInline
struct ValueSlot<Value>: Sendable {
  @usableFromInline let index: Int32
  @usableFromInline let offset: Int32

  @usableFromInline
  init(index: Int32, offset: Int32) {
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

  struct Slot: Sendable {
    let offset: Int32
    /// How many take the value.
    var consumers: Int32 = 0
    /// `nil` for a value that is nothing but its bits.
    let destroy: Destroyer?
  }

  private(set) var size = 0
  private(set) var alignment = 1
  private(set) var slots: ContiguousArray<Slot> = []
  /// Whether any value has to be destroyed, and so those who take it counted.
  private(set) var countsShares = false

  /// Lays out one more value.
  ///
  /// - Returns: The number of its slot, and where it lies.
  mutating func addSlot(size valueSize: Int, alignment step: Int, destroy: Destroyer?) -> (Int32, Int32) {
    let offset = (size + step - 1) & ~(step - 1)
    size = offset + valueSize
    alignment = max(alignment, step)
    countsShares = countsShares || destroy != nil
    slots.append(Slot(offset: Int32(offset), destroy: destroy))
    return (Int32(slots.count - 1), Int32(offset))
  }

  /// Counts who takes each value, where that has to be known.
  ///
  /// - Parameters:
  ///   - inputs: The slot of everything that is taken, doubled.
  ///   - output: The slot of the graph's value, if it has one.
  mutating func countConsumers(inputs: ContiguousArray<Int32>, output: Int32?) {
    guard countsShares else { return }
    for input in inputs { slots[Int(input >> 1)].consumers += 1 }
    if let output { slots[Int(output)].consumers += 1 }
  }
}

/// Internal. The values of one run of a graph, from when they are produced until their last consumer has taken them.
///
/// Invariant: each slot is written once, by its producer, and read by its consumers after the producer has finished, which
/// the run's progress orders. A value that has to be destroyed is owned by its consumers, and counts them: a consumer reads
/// it before it gives its share up, and whoever gives up the last share destroys it, if it is there: which is said, with
/// release, after it has been written. A consumer that is skipped may give up its share while the producer writes; if it
/// does not see the value, that is destroyed with the run. So a slot is never read before it was written, nor after it was
/// destroyed. A value that is nothing but its bits is left where it is.
@usableFromInline
final class ValueArena: @unchecked Sendable {
  private let layout: ValueLayout
  @usableFromInline let memory: UnsafeMutableRawPointer
  /// How many are still to take each value; nothing where all values are nothing but their bits.
  private let shares: UnsafeMutablePointer<Atomic<Int32>>
  /// Which of those that have to be destroyed are there.
  private let isPresent: UnsafeMutablePointer<Atomic<Bool>>
  private let errors = Mutex<[Int32: any Error]>([:])

  init(_ layout: ValueLayout) {
    self.layout = layout
    let count = layout.countsShares ? layout.slots.count : 0
    memory = .allocate(byteCount: max(layout.size, 1), alignment: layout.alignment)
    shares = .allocate(capacity: count)
    isPresent = .allocate(capacity: count)
    for slot in 0..<count {
      (shares + slot).initialize(to: Atomic(layout.slots[slot].consumers))
      (isPresent + slot).initialize(to: Atomic(false))
    }
  }

  deinit {
    if layout.countsShares {
      for slot in layout.slots.indices where isPresent[slot].load(ordering: .acquiring) { destroy(Int32(slot)) }
      shares.deinitialize(count: layout.slots.count)
      isPresent.deinitialize(count: layout.slots.count)
    }
    shares.deallocate()
    isPresent.deallocate()
    memory.deallocate()
  }

  /// Stores a value, once, by its producer.
  @inlinable
  func put<Value>(_ value: consuming Value, into slot: ValueSlot<Value>) {
    if !_isPOD(Value.self), !isWanted(slot.index) { return }
    (memory + Int(slot.offset)).initializeMemory(as: Value.self, to: value)
    if !_isPOD(Value.self) { noteValue(in: slot.index) }
  }

  /// A consumer's copy of a value; for the last consumer the value itself.
  @inlinable
  func take<Value>(_ slot: ValueSlot<Value>) -> Value {
    let pointer = (memory + Int(slot.offset)).assumingMemoryBound(to: Value.self)
    if _isPOD(Value.self) { return pointer.pointee }
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

  /// Whether anybody may still take a value that has to be destroyed, and is about to be stored.
  @usableFromInline
  func isWanted(_ slot: Int32) -> Bool {
    shares[Int(slot)].load(ordering: .relaxed) > 0
  }

  /// A value that has to be destroyed has been stored.
  @usableFromInline
  func noteValue(in slot: Int32) {
    isPresent[Int(slot)].store(true, ordering: .releasing)
  }

  /// Whether nobody else is to take this value, which the caller is to move out then.
  @usableFromInline
  func claimLastShare(of slot: Int32) -> Bool {
    guard shares[Int(slot)].load(ordering: .acquiring) == 1 else { return false }
    isPresent[Int(slot)].store(false, ordering: .relaxed)
    shares[Int(slot)].store(0, ordering: .relaxed)
    return true
  }

  /// Says that a consumer of this slot is done with it, or will never take it.
  @usableFromInline
  func giveUpShare(of slot: Int32) {
    guard layout.slots[Int(slot)].destroy != nil else { return }
    let old = shares[Int(slot)].subtract(1, ordering: .acquiringAndReleasing).oldValue
    if old == 1, isPresent[Int(slot)].load(ordering: .acquiring) { destroy(slot) }
  }

  private func destroy(_ slot: Int32) {
    isPresent[Int(slot)].store(false, ordering: .relaxed)
    layout.slots[Int(slot)].destroy?(memory + Int(layout.slots[Int(slot)].offset))
  }

  /// Says why the producer of this slot does not produce.
  func recordError(_ error: any Error, of slot: Int32) {
    errors.withLock { $0[slot] = error }
  }

  @usableFromInline
  func error(of slot: Int32) -> (any Error)? {
    errors.withLock { $0[slot] }
  }
}
