import Testing

@testable import Benchmark

@Suite struct MemoryTests {
  @Test("Resident memory grows by what is written")
  func growth() {
    let before = ResidentMemory.bytes
    let written = [UInt8](repeating: 1, count: 64 << 20)
    #expect(ResidentMemory.bytes - before > written.count / 2)
    #expect(written.last == 1)
  }

  @Test("What the child prints, the parent reads")
  func line() {
    let probe = MemoryProbe(line: "300.5 -0.25\n")
    #expect(probe?.bytesEach == 300.5)
    #expect(probe?.regrowthEach == -0.25)
    #expect(probe.flatMap { MemoryProbe(line: $0.line) } == probe)
  }

  @Test("Anything else is not taken for a number", arguments: ["", "1", "one two", "1 2 3"])
  func nonsense(_ output: String) {
    #expect(MemoryProbe(line: output) == nil)
  }
}
