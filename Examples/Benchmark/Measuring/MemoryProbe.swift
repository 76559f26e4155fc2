/// The resident memory of a waiting unit of work, in bytes. Measured in a process that does nothing else.
struct MemoryProbe: Sendable {
  /// The memory for each unit the first time.
  let bytesEach: Double
  /// The additional memory for each unit the second time, after the first was released: zero, if all memory was released.
  let regrowthEach: Double

  /// Fills, empties, and fills again.
  ///
  /// - Throws: The errors of the store.
  static func measure(_ store: Store, units: Int) async throws -> MemoryProbe {
    let before = ResidentMemory.bytes
    let filled = try await fillAndEmpty(store, units)
    let refilled = try await fillAndEmpty(store, units)
    return MemoryProbe(
      bytesEach: Double(filled - before) / Double(units), regrowthEach: Double(refilled - filled) / Double(units))
  }

  /// - Returns: The memory when the store was full. Afterwards, its content is released.
  private static func fillAndEmpty(_ store: Store, _ units: Int) async throws -> Int {
    let content = try await store.fill(units)
    let bytes = ResidentMemory.bytes
    await content.empty()
    return bytes
  }
}
