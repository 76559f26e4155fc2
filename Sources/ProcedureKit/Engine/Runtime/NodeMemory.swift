/// Internal. What the bodies of a graph's nodes need to know, side by side in a few large pieces of memory.
///
/// A closure for each node would be an allocation for each, would be retained and released whenever it is called, and would
/// be called by way of one more async function. So the closures know nothing, and are told where what they need lies.
///
/// Invariant: what is stored stays where it is and is not changed, from `store` until `deinit`, which destroys it; whoever
/// has the pointer keeps this alive. It is written before the graph is shared, and only read from then on.
@usableFromInline
final class NodeMemory: @unchecked Sendable {
  /// Values of one type, one after another, which have to be destroyed.
  private struct Run {
    let type: ObjectIdentifier
    let start: UnsafeMutableRawPointer
    var end: UnsafeMutableRawPointer
    var count = 1
    /// A member of a structure, since an array of closures would wrap each in one more.
    let destroy: @Sendable (UnsafeMutableRawPointer, _ count: Int) -> Void
  }

  private static let smallestChunk = 512
  private static let largestChunk = 65_536

  // No access to any of them lasts while foreign code is called.
  @exclusivity(unchecked) private var chunks: ContiguousArray<UnsafeMutableRawPointer> = []
  @exclusivity(unchecked) private var free: UnsafeMutableRawPointer?
  @exclusivity(unchecked) private var bytesLeft = 0
  @exclusivity(unchecked) private var nextChunk = smallestChunk
  @exclusivity(unchecked) private var runs: ContiguousArray<Run> = []

  init() {}

  deinit {
    for run in runs { run.destroy(run.start, run.count) }
    for chunk in chunks { chunk.deallocate() }
  }

  /// Keeps a value as long as this lives.
  @inlinable
  func store<Value: Sendable>(_ value: Value) -> UnsafePointer<Value> {
    let memory = allocate(MemoryLayout<Value>.stride, alignment: MemoryLayout<Value>.alignment)
    if !_isPOD(Value.self) {
      note(memory, MemoryLayout<Value>.stride, ObjectIdentifier(Value.self)) { start, count in
        start.assumingMemoryBound(to: Value.self).deinitialize(count: count)
      }
    }
    return UnsafePointer(memory.initializeMemory(as: Value.self, to: value))
  }

  /// Notes what has to be destroyed.
  @usableFromInline
  func note(
    _ memory: UnsafeMutableRawPointer, _ size: Int, _ type: ObjectIdentifier,
    destroy: @escaping @Sendable (UnsafeMutableRawPointer, _ count: Int) -> Void
  ) {
    if let last = runs.indices.last, runs[last].type == type, runs[last].end == memory {
      runs[last].end = memory + size
      runs[last].count += 1
    } else {
      runs.append(Run(type: type, start: memory, end: memory + size, destroy: destroy))
    }
  }

  @usableFromInline
  func allocate(_ size: Int, alignment: Int) -> UnsafeMutableRawPointer {
    if let place = free?.alignedUp(toMultipleOf: alignment), let free, place - free + size <= bytesLeft {
      bytesLeft -= place - free + size
      self.free = place + size
      return place
    }
    let chunkSize = max(nextChunk, size)
    nextChunk = min(nextChunk * 2, Self.largestChunk)
    let chunk = UnsafeMutableRawPointer.allocate(byteCount: chunkSize, alignment: max(alignment, 16))
    chunks.append(chunk)
    free = chunk + size
    bytesLeft = chunkSize - size
    return chunk
  }
}
