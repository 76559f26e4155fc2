/// The resident memory of each waiting unit of work, in bytes. It is measured in a process that does nothing else.
struct MemoryProbe: Sendable {
  /// The memory for each unit when the store is filled for the first time.
  let bytesEach: Double
  /// The additional memory for each unit when the store is filled again. It is zero unless emptying the store leaked memory.
  let regrowthEach: Double

  /// Fills a store, empties it, and fills it again.
  ///
  /// - Throws: Any error thrown by the store.
  static func measure(_ store: Store, units: Int) async throws -> MemoryProbe {
    let before = ResidentMemory.bytes
    let filled = try await fillAndEmpty(store, units)
    let refilled = try await fillAndEmpty(store, units)
    return MemoryProbe(
      bytesEach: Double(filled - before) / Double(units), regrowthEach: Double(refilled - filled) / Double(units))
  }

  /// Fills a store, and then releases its contents.
  ///
  /// - Returns: The number of resident bytes while the store was full.
  private static func fillAndEmpty(_ store: Store, _ units: Int) async throws -> Int {
    let content = try await store.fill(units)
    let bytes = ResidentMemory.bytes
    await content.empty()
    return bytes
  }
}
