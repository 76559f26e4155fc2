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
    var yieldPolicy = YieldPolicy(QueueClock(SteppingClock(step: .milliseconds(20))))
    #expect((0..<100).allSatisfy { _ in yieldPolicy.shouldYield() })
  }

  @Test("Bodies of two milliseconds, as of those that sleep, yield after some of them")
  func medium() {
    // The clock goes on by that only when somebody looks: bodies that are not looked at took no time.
    var yieldPolicy = YieldPolicy(QueueClock(SteppingClock(step: .milliseconds(2))))
    let yields = (0..<1_000).filter { _ in yieldPolicy.shouldYield() }
    #expect(yields.count > 20 && yields.count < 200, "\(yields.count)")
  }

  @Test("Short bodies yield after 128 where the clock may stand still, and it is looked at as seldom")
  func short() {
    let clock = SteppingClock(step: .zero)
    var yieldPolicy = YieldPolicy(QueueClock(clock))
    let yields = (0..<12_800).filter { _ in yieldPolicy.shouldYield() }
    #expect(zip(yields, yields.dropFirst()).allSatisfy { $1 - $0 == 128 })
    #expect(yields.count == 99 && clock.lookCount < 120)
  }

  @Test("Without a clock bodies are counted, and yield after 1,024")
  func counted() {
    var yieldPolicy = YieldPolicy(nil)
    let yields = (0..<10_240).filter { _ in yieldPolicy.shouldYield() }
    #expect(yields.count == 9 && zip(yields, yields.dropFirst()).allSatisfy { $1 - $0 == 1_024 })
  }
}
