import Testing

@testable import kitten

@Suite struct ProgressMeterTests {
  @Test("Every step that ends has a line with its number, aligned, and how it ended")
  func lines() {
    var meter = ProgressMeter(stepCount: 10)
    meter.stepStarted("load")
    #expect(meter.stepFinished("load", .done) == "[ 1/10] load")
    #expect(meter.stepFinished("resize", .failed) == "[ 2/10] resize: failed")
    #expect(meter.stepFinished("write", .skipped) == nil)
    #expect(meter.cancelledLine == nil)
    #expect(meter.stepFinished("report", .cancelled) == nil)
    #expect(meter.cancelledLine == "1 of 10 steps were cancelled")
    #expect(meter.finishedCount == 4)
  }

  @Test("The bar is filled as far as the job is, and names the step that started last of those that execute")
  func bar() {
    var meter = ProgressMeter(stepCount: 4)
    #expect(meter.bar(columnCount: 80) == String(repeating: "░", count: 24) + " 0/4")
    meter.stepStarted("first")
    meter.stepStarted("second")
    _ = meter.stepFinished("second", .done)
    let bar = String(repeating: "█", count: 6) + String(repeating: "░", count: 18)
    #expect(meter.bar(columnCount: 80) == bar + " 1/4  first")
    #expect(meter.bar(columnCount: 33) == bar + " 1/4  fir")
    #expect(meter.bar(columnCount: -1) == "")
  }
}
