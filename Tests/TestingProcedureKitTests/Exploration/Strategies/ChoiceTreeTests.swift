import Testing

@testable import TestingProcedureKit

@Suite struct ChoiceTreeTests {
  /// Returns the record of a body whose choices have the given widths. The choices at wakes are marked.
  private func record(_ prefix: [Int], widths: [(width: Int, isWake: Bool)]) -> ScheduleRecord {
    var record = ScheduleRecord()
    for (index, choice) in widths.enumerated() {
      let chosen = index < prefix.count ? prefix[index] : 0
      if choice.isWake {
        record.didWake(chosen, of: choice.width, isUnderLock: false)
      } else {
        record.didChoose(chosen, of: choice.width)
      }
      record.didRun(0)
    }
    return record
  }

  @Test("Each sequence runs once, in the order of preemptions, and the largest number that is complete is known")
  func layers() throws {
    let widths = [(2, false), (3, true), (1, true), (2, true), (3, false), (2, true)]
    var tree = ChoiceTree()
    var seen: [[Int]] = []
    var preemptions: [Int] = []
    while let prefix = tree.next {
      let record = record(prefix, widths: widths)
      seen.append(record.choices)
      preemptions.append(widths.indices.count { widths[$0].1 && record.choices[$0] > 0 })
      #expect(tree.completePreemptions ?? -1 == preemptions[preemptions.count - 1] - 1)
      tree.didRun(record)
    }
    #expect(Set(seen).count == seen.count)
    #expect(seen.count == widths.reduce(1) { $0 * $1.0 })
    #expect(preemptions == preemptions.sorted())
    #expect(tree.completePreemptions ?? 0 >= 3)
  }
}
