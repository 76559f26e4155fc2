import Testing

@testable import Benchmark

@Suite struct SelectionTests {
  @Test("Every target compares workloads that are measured")
  func comparisons() {
    for target in Target.all {
      #expect(!target.comparisons.isEmpty, "\(target.id)")
      for comparison in target.comparisons {
        let roles = Workload.all.first { $0.id == comparison.workload }?.contestants.map(\.role) ?? []
        #expect(roles.contains(comparison.contestant), "\(target.id)")
        if let baseline = comparison.baseline { #expect(roles.contains(baseline), "\(target.id)") }
      }
    }
  }

  @Test("Identifiers are unique")
  func identifiers() {
    #expect(Set(Workload.all.map(\.id)).count == Workload.all.count)
    #expect(Set(Target.all.map(\.id)).count == Target.all.count)
  }

  @Test("Without names, every workload is measured except slow ones")
  func all() {
    let selection = Selection([], includesLong: false)
    #expect(selection.workloads.map(\.id) == Workload.all.filter { !$0.isLong }.map(\.id))
    #expect(selection.targets.map(\.id) == Target.all.map(\.id).filter { $0 != "P9" })
    #expect(selection.leavesOutLong)
    #expect(Selection([], includesLong: true).workloads.count == Workload.all.count)
    #expect(!Selection([], includesLong: true).leavesOutLong)
  }

  @Test("A workload is measured with all its contestants")
  func workload() {
    let selection = Selection(["W3"], includesLong: false)
    #expect(selection.workloads.map(\.id) == ["W3"])
    #expect(selection.workloads[0].contestants.count == ChainWork.contestants.count)
    #expect(selection.targets.map(\.id) == ["P4", "P7"])
  }

  @Test("A target measures only the workloads that it compares")
  func target() {
    let selection = Selection(["P7"], includesLong: false)
    #expect(selection.workloads.map(\.id) == ["W3", "W4"])
    for workload in selection.workloads {
      #expect(workload.contestants.map(\.role) == [.floor, .procedureKit("build and run")])
    }
    #expect(!selection.leavesOutLong)
  }

  @Test("A slow workload is measured if it is named")
  func long() {
    let selection = Selection(["P9"], includesLong: false)
    #expect(selection.workloads.count == 6)
    #expect(selection.targets.map(\.id) == ["P9"])
  }
}
