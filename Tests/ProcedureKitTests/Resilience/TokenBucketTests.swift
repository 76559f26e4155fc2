import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite struct TokenBucketTests {
  @Test("A bucket starts full, hands out all its tokens immediately, and then one token per interval")
  func refills() {
    var bucket = TokenBucket(capacity: 3, interval: .seconds(2))
    #expect(bucket.tokens(at: .zero) == 3)
    #expect((0..<5).map { _ in bucket.take(at: .zero) } == [true, true, true, false, false])
    #expect(bucket.nextToken == .seconds(2))
    #expect([Duration.nanoseconds(1_999_999_999), .seconds(2)].map { bucket.take(at: $0) } == [false, true])
    #expect(bucket.tokens(at: .seconds(7)) == 2)
    #expect(bucket.tokens(at: .seconds(8)) == 3)
    #expect(bucket.tokens(at: .seconds(1_000)) == 3)
  }

  @Test("Parts of a token add up to a token, and are lost if the bucket is full")
  func parts() {
    var bucket = TokenBucket(capacity: 1, interval: .seconds(1_000))
    for _ in 0..<100 { bucket.add(oneOf: 10, at: .zero) }
    #expect((0..<2).map { _ in bucket.take(at: .zero) } == [true, false])
    for part in 0..<10 {
      #expect(bucket.tokens(at: .zero) == 0, "\(part)")
      bucket.add(oneOf: 10, at: .zero)
    }
    #expect((0..<2).map { _ in bucket.take(at: .zero) } == [true, false])
  }

  @Test(
    "A bucket without capacity hands out nothing, one without an interval hands out everything, and no number is too large"
  )
  func extremes() {
    var empty = TokenBucket(capacity: -1, interval: .zero)
    #expect((0..<2).map { _ in empty.take(at: .longest) } == [false, false])
    #expect(empty.tokens(at: .longest) == 0 && empty.nextToken == nil)
    var endless = TokenBucket(capacity: 1, interval: .zero)
    #expect((0..<100).allSatisfy { _ in endless.take(at: .zero) } && endless.tokens(at: .zero) == 1)
    var slow = TokenBucket(capacity: .max, interval: Duration(attoseconds: .max))
    #expect((0..<1_000).allSatisfy { _ in slow.take(at: .longest) })
    #expect(slow.tokens(at: .longest) == slow.capacity - 1_000)
    slow.add(oneOf: 0, at: .zero)
    #expect(slow.tokens(at: .longest) == slow.capacity - 999)
  }

  @Test("In random scripts, a bucket agrees with a model that counts token by token")
  func agreesWithModel() {
    for seed in 0..<UInt64(TestDepth.count(200)) {
      var random = SeededGenerator(seed: seed)
      let (capacity, interval, parts) = (1 + random.below(5), 1 + random.below(9), 1 + random.below(4))
      var bucket = TokenBucket(capacity: capacity, interval: .seconds(interval * parts))
      // The model counts in parts of a token, and adds one part per second.
      var (now, held) = (0, capacity * interval * parts)
      for step in 0..<200 {
        let passed = random.below(interval * 2)
        now += passed
        held = min(held + passed, capacity * interval * parts)
        let instant = Duration.seconds(now)
        if random.chance(percent: 30) {
          bucket.add(oneOf: parts, at: instant)
          held = min(held + interval, capacity * interval * parts)
        }
        let isThere = held >= interval * parts
        guard bucket.tokens(at: instant) == held / (interval * parts), bucket.take(at: instant) == isThere else {
          Issue.record("seed \(seed), step \(step)")
          break
        }
        if isThere { held -= interval * parts }
      }
    }
  }
}
