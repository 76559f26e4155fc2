import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite struct ProgressStateTests {
  private let ids = (0..<20).map { _ in ProcedureID.reserve() }

  private func instant(_ seconds: Double) -> ProcedureInstant { ProcedureInstant(sinceStart: .seconds(seconds)) }

  @Test("Children add up by weight, and once the body reports, it counts as another child of weight 1")
  func weights() {
    var state = ProgressState()
    let areNew = [(0, 3.0), (1, 1), (1, 1)].map { state.childCame(ids[$0.0], weight: $0.1) }
    #expect(areNew == [true, true, false])
    state.childAdvanced(ids[0], to: 0.5, at: instant(1))
    #expect(state.shown.fraction == 1.5 / 4)
    state.childEnded(ids[1], at: instant(2))
    #expect(state.shown.fraction == 2.5 / 4)
    state.childEnded(ids[1], at: instant(2))
    state.bodyReported(1, at: instant(3))
    #expect(state.shown.fraction == 3.5 / 5)
    state.childEnded(ids[0], at: instant(3))
    #expect(state.shown.fraction == 1)
  }

  @Test("The progress never goes back: a lower report, another child and a withdrawn child change nothing")
  func neverBack() {
    var state = ProgressState()
    state.bodyReported(0.5, completed: 5, of: 10, at: instant(1))
    state.bodyReported(0.1, completed: 1, of: 10, at: instant(1))
    _ = state.childCame(ids[0], weight: 10)
    state.childAdvanced(ids[0], to: 0.25, at: instant(1))
    #expect(state.shown.fraction == 0.5 && state.shown.completedUnits == 5)
    state.childWithdrawn(ids[0])
    state.bodyReported(0.6, completed: 6, of: 10, at: instant(1))
    #expect(state.shown.fraction == 0.6 && state.shown.completedUnits == 6)
  }

  @Test("Fractions are clamped to the range from 0 to 1, and NaN is ignored", arguments: [-1, .nan, 2, .infinity])
  func bounds(_ fraction: Double) {
    var state = ProgressState()
    state.bodyReported(fraction, at: instant(1))
    #expect(state.shown.fraction == (fraction > 1 ? 1 : 0))
  }

  @Test("The time left is estimated from the speed since the start, or since the first report if the start is unknown")
  func remaining() {
    var known = ProgressState(start: instant(10))
    known.bodyReported(0.25, at: instant(20))
    #expect(known.shown.remaining == .seconds(30))
    var unknown = ProgressState()
    unknown.bodyReported(0.5, at: instant(100))
    #expect(unknown.shown.remaining == nil)
    unknown.bodyReported(0.75, at: instant(110))
    #expect(unknown.shown.remaining == .seconds(10))
    unknown.ended(hasFinished: true)
    #expect(unknown.shown.remaining == .zero && unknown.shown.fraction == 1)
  }

  @Test("A failed run keeps its progress, and nothing changes after the end")
  func end() {
    var state = ProgressState()
    state.bodyReported(0.25, at: instant(1))
    state.ended(hasFinished: false)
    let version = state.version
    state.bodyReported(0.75, at: instant(2))
    state.ended(hasFinished: true)
    let isNew = state.childCame(ids[0], weight: 1)
    #expect(!isNew)
    #expect(state.shown.fraction == 0.25 && state.version == version && state.hasEnded)
  }

  @Test("In any order of events, the fraction stays between 0 and 1 and never goes back", arguments: 0..<50)
  func random(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var state = ProgressState(total: seed % 3 == 0 ? 10 : nil)
    var latest = 0.0
    for step in 0..<300 {
      let (id, fraction) = (ids[Int.random(in: 0..<20, using: &random)], Double.random(in: 0...1, using: &random))
      switch Int.random(in: 0..<5, using: &random) {
      case 0: _ = state.childCame(id, weight: Double.random(in: 0...3, using: &random))
      case 1: state.childAdvanced(id, to: fraction, at: instant(Double(step)))
      case 2: state.childEnded(id, at: instant(Double(step)))
      case 3: state.bodyReported(fraction * Double(step) / 300, at: instant(Double(step)))
      default: if step % 7 == 0 { state.childWithdrawn(id) }
      }
      #expect((latest...1).contains(state.shown.fraction) && state.shown.remaining ?? .zero >= .zero, "seed \(seed)")
      latest = state.shown.fraction
    }
  }
}
