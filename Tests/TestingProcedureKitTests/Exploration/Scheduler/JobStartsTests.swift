import Testing

@testable import TestingProcedureKit

@Suite struct JobStartsTests {
  @Test(
    "The end of a sleep may have been computed since the start of the previous job, if it made the current one ready")
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
