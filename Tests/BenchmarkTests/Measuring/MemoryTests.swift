import Testing

@testable import Benchmark

@Suite struct MemoryTests {
  @Test("Resident memory grows by the size of the memory that is written")
  func growth() {
    let before = ResidentMemory.bytes
    let written = [UInt8](repeating: 1, count: 64 << 20)
    #expect(ResidentMemory.bytes - before > written.count / 2)
    #expect(written.last == 1)
  }
}
