import Testing

@testable import TestingProcedureKit

@Suite struct JobStartsTests {
  @Test("A sleep may have been computed since the start of the job before, if that job has made the current one ready")
  func continued() {
    var starts = JobStarts()
    #expect(starts.elapsed(in: nil) == .zero && starts.elapsed(in: 3) == .zero)
    starts.didStart(3)
    let first = ContinuousClock.now
    starts.willContinue(3)
    starts.didStart(3)
    let sinceFirst = first.duration(to: .now)
    #expect(starts.elapsed(in: 3) >= sinceFirst)
    let second = ContinuousClock.now
    starts.didStart(3)
    let elapsed = starts.elapsed(in: 3)
    #expect(elapsed <= second.duration(to: .now))
  }
}
