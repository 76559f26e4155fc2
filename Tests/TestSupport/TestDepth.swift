import Foundation
public import Testing

/// The depth of the random, explored and stress tests, which the environment variable `PROCEDUREKIT_DEPTH` determines.
///
/// Each test names a count. The gate performs a sixth of this count, an ordinary `swift test` performs a hundred-and-twentieth, and `deep`
/// performs ten times as much. The seeds are the same at each depth, so a greater depth repeats the seeds of a smaller one.
public enum TestDepth: String, Sendable {
  /// The quick depth of an ordinary `swift test`, which is used if the variable is not set.
  case ordinary

  /// The depth that `.ci/run` sets.
  case gate

  /// The depth for long runs, at night or after a change of the engine.
  case deep

  /// The depth of this process. An invalid value of the variable traps.
  public static let current: TestDepth = {
    guard let name = ProcessInfo.processInfo.environment["PROCEDUREKIT_DEPTH"], !name.isEmpty else { return .ordinary }
    guard let depth = TestDepth(rawValue: name) else {
      preconditionFailure("PROCEDUREKIT_DEPTH is \"\(name)\": leave it unset, or set it to gate or deep")
    }
    return depth
  }()

  /// Whether the depth of this process is at least that of the gate.
  public static var isAtLeastGate: Bool { current != .ordinary }

  /// Returns the number of seeds, schedules, scripts or procedures at the current depth.
  ///
  /// - Parameters:
  ///   - named: The count that the test names.
  ///   - least: The smallest useful count at the gate, unless `named` is even smaller. An ordinary run performs at least a third of it.
  /// - Returns: The count, which is at least one if `named` is at least one.
  public static func count(_ named: Int, least: Int = 10) -> Int {
    switch current {
    case .ordinary: max(named / 120, min(named, (least + 2) / 3))
    case .gate: max(named / 6, min(named, least))
    case .deep: named * 10
    }
  }

  /// Returns a number of large objects, such as nodes or procedures, in a test of their number. The count never exceeds that at the gate's
  /// depth.
  ///
  /// - Parameter gate: The count at the gate's depth and beyond.
  /// - Returns: The count at the current depth.
  public static func size(_ gate: Int) -> Int {
    current == .ordinary ? gate / 10 : gate
  }

  /// Returns a number of procedures that serve as load, in a test in which twice as many would show nothing new.
  ///
  /// - Parameter deep: The count of a deep run.
  /// - Returns: The count at the current depth.
  public static func load(_ deep: Int) -> Int {
    switch current {
    case .ordinary: deep / 20
    case .gate: deep / 4
    case .deep: deep
    }
  }

  /// The number of rounds of a stress test.
  public static var rounds: Int {
    switch current {
    case .ordinary, .gate: 1
    case .deep: 20
    }
  }
}

extension TimeLimitTrait.Duration {
  /// The time limit of suites whose work grows with the depth. The time begins when the test's turn comes: `TestWidth` limits the number of
  /// tests at a time.
  public static var atDepth: Self { .minutes(TestDepth.current == .deep ? 600 : 10) }
}
