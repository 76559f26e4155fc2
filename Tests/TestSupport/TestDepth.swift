import Foundation
public import Testing

/// How long the random, explored and stress tests go on: the environment variable `PROCEDUREKIT_DEPTH`.
///
/// Each test names a count. The gate does a sixth of this count, an ordinary `swift test` a tenth, `deep` ten times as much.
/// The seeds are the same at each depth, so that a greater depth repeats what a smaller one has tried.
public enum TestDepth: String, Sendable {
  /// The variable is not set: quick, for an ordinary `swift test`.
  case ordinary

  /// What `.ci/run` asks for.
  case gate

  /// Long: for a night, or after a change of the engine.
  case deep

  /// The depth of this process. Traps if the variable names none.
  public static let current: TestDepth = {
    guard let name = ProcessInfo.processInfo.environment["PROCEDUREKIT_DEPTH"], !name.isEmpty else { return .ordinary }
    guard let depth = TestDepth(rawValue: name) else {
      preconditionFailure("PROCEDUREKIT_DEPTH is \"\(name)\": leave it unset, or set it to gate or deep")
    }
    return depth
  }()

  /// Whether this process goes at least as far as the gate.
  public static var isAtLeastGate: Bool { current != .ordinary }

  /// The count of seeds, schedules, scripts or procedures at the current depth.
  ///
  /// - Parameters:
  ///   - named: The count that the test names.
  ///   - least: The smallest count that still shows something, where `named` is not smaller yet.
  /// - Returns: The count, at least one where `named` is.
  public static func count(_ named: Int, least: Int = 20) -> Int {
    switch current {
    case .ordinary: max(named / 10, min(named, least))
    case .gate: max(named / 6, min(named, least))
    case .deep: named * 10
    }
  }

  /// A count of large things (nodes, procedures) whose number is the point: never more than at the gate's depth.
  ///
  /// - Parameter gate: The count at the gate's depth and beyond.
  /// - Returns: The count at the current depth.
  public static func size(_ gate: Int) -> Int {
    current == .ordinary ? gate / 10 : gate
  }

  /// A count of procedures that are a load, where twice as many show nothing else.
  ///
  /// - Parameter deep: The count of a deep run.
  /// - Returns: The count at the current depth.
  public static func load(_ deep: Int) -> Int {
    switch current {
    case .ordinary: deep / 10
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
  /// The limit of suites whose work grows with the depth. All tests start together, and so each takes as long as all.
  public static var atDepth: Self { .minutes(TestDepth.current == .deep ? 600 : 10) }
}
