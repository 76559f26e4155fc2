import Testing

@testable import Benchmark

@Suite struct InstructionCountTests {
  @Test("Instructions are counted for contestants that exist", arguments: InstructionCount.all)
  func contestants(_ count: InstructionCount) {
    let workload = Workload.all.first { $0.id == count.workload }
    #expect(workload?.contestants.contains { $0.role == .procedureKit(count.way) } == true)
  }

  @Test("Names are unique")
  func names() {
    #expect(Set(InstructionCount.all.map(\.name)).count == InstructionCount.all.count)
  }
}
