import Foundation

/// The resident memory of a waiting unit of work, in bytes, measured in a process that does nothing else.
struct MemoryProbe: Equatable, Sendable {
  struct ChildFailed: Error, CustomStringConvertible {
    let store: Store
    let output: String

    var description: String { "the process for filling \(store.rawValue) printed '\(output)'" }
  }

  /// The memory for each unit the first time.
  let bytesEach: Double
  /// The additional memory for each unit the second time, after the first was released: zero, if all memory was released.
  let regrowthEach: Double

  /// Fills, empties, and fills again, in this process.
  static func measure(_ store: Store, units: Int) async -> MemoryProbe {
    let before = ResidentMemory.bytes
    let filled = await fillAndEmpty(store, units)
    let refilled = await fillAndEmpty(store, units)
    return MemoryProbe(
      bytesEach: Double(filled - before) / Double(units), regrowthEach: Double(refilled - filled) / Double(units))
  }

  /// - Returns: The memory when the store was full. Afterwards, its content is released.
  private static func fillAndEmpty(_ store: Store, _ units: Int) async -> Int {
    let content = store.fill(units)
    let bytes = ResidentMemory.bytes
    await content.empty()
    return bytes
  }

  /// Measures in a child process, which runs this program again.
  ///
  /// - Throws: ``ChildFailed``, and the errors of `Process`.
  static func measureInChild(_ store: Store, units: Int) throws -> MemoryProbe {
    let process = Process()
    process.executableURL = Bundle.main.executableURL
    process.arguments = ["--fill", store.rawValue, "\(units)"]
    // One arena of the C library's allocator, so that memory which one thread releases is available to the others.
    process.environment = ProcessInfo.processInfo.environment.merging(["MALLOC_ARENA_MAX": "1"]) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0, let probe = MemoryProbe(line: output) else {
      throw ChildFailed(store: store, output: output)
    }
    return probe
  }

  private init(bytesEach: Double, regrowthEach: Double) {
    self.bytesEach = bytesEach
    self.regrowthEach = regrowthEach
  }

  /// Parses ``line``.
  init?(line: String) {
    let numbers = line.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard numbers.count == 2 else { return nil }
    self.init(bytesEach: numbers[0], regrowthEach: numbers[1])
  }

  var line: String { "\(bytesEach) \(regrowthEach)" }
}
