import ProcedureKit
import ProcedureKitRemote
import Testing

@testable import temporal

/// Tests the limits of a call as the server receives them, with all values that a caller can set.
@Suite struct LimitsTests {
  private static let durations: [Duration] = [
    .zero, .seconds(-1), .nanoseconds(1), .seconds(600), .seconds(Int64.max), .seconds(Int64.min),
    Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999),
  ]

  @Test(
    "No limit traps, and the server receives values in its range", arguments: [Int.min, -1, 0, 1, 3, 1_000_001, .max])
  func extremes(_ deliveries: Int) throws {
    for start in Self.durations {
      for execution in Self.durations {
        var limits = RemoteLimits()
        (limits.startTimeout, limits.executionTimeout, limits.deliveries) = (start, execution, deliveries)
        #expect((1...Int(Int32.max)).contains(limits.attempts))
        #expect(limits.activityDuration >= .zero && limits.activityDuration <= .seconds(3_155_760_000))
      }
    }
    var limits = RemoteLimits()
    (limits.startTimeout, limits.executionTimeout, limits.deliveries) = (.seconds(1), .seconds(2), 3)
    #expect(limits.activityDuration == .seconds(9))
  }

  @Test("A duration beyond 10,000 years is written as 10,000 years")
  func writing() throws {
    for duration in Self.durations {
      var message = MessageWriter()
      message.write(1, duration)
      let read = try MessageReader(message.bytes[...]).duration(1)
      #expect(read == min(max(duration, .seconds(-315_576_000_000)), .seconds(315_576_000_000)))
    }
  }
}
