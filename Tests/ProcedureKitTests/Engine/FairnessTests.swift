import Synchronization
import Testing

@testable import ProcedureKit

@Suite struct FairnessTests {
  /// A clock that goes on by a fixed time whenever somebody looks.
  private final class SteppingClock: Clock {
    private let step: Duration
    private let looks = Mutex(0)

    init(step: Duration) { self.step = step }

    struct Instant: InstantProtocol {
      var offset: Duration
      func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
      func duration(to other: Instant) -> Duration { other.offset - offset }
      static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    var now: Instant {
      let looks = looks.withLock { looks in
        looks += 1
        return looks
      }
      return Instant(offset: step * looks)
    }

    var minimumResolution: Duration { step }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {}

    var lookCount: Int { looks.withLock { $0 } }
  }

  @Test("Long bodies yield after each one")
  func long() {
    var fairness = Fairness(QueueTime(SteppingClock(step: .milliseconds(2))))
    #expect((0..<100).allSatisfy { _ in fairness.pieceEnds() })
  }

  @Test("Short bodies yield after 128, and the clock is looked at as seldom")
  func short() {
    let clock = SteppingClock(step: .zero)
    var fairness = Fairness(QueueTime(clock))
    let yields = (0..<12_800).filter { _ in fairness.pieceEnds() }
    #expect(zip(yields, yields.dropFirst()).allSatisfy { $1 - $0 == 128 })
    #expect(yields.count == 99 && clock.lookCount < 120)
    var counted = Fairness(nil)
    #expect((0..<12_800).filter { _ in counted.pieceEnds() }.count == 99)
  }
}
