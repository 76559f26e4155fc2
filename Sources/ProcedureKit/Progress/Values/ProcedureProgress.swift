/// How far a procedure is.
public struct ProcedureProgress: Hashable, Sendable {
  /// The part of the work that is done, from 0 to 1. Never smaller than in an earlier value of the same run.
  public internal(set) var fraction = 0.0
  /// How many units are done, if the body reports units.
  public internal(set) var completedUnits: Int?
  /// How many units there are, if the body reports units.
  public internal(set) var totalUnits: Int?
  /// How long the rest takes if the work goes on as fast as so far, on the clock of the queue; `nil` while nothing is known about
  /// the speed.
  public internal(set) var remaining: Duration?
}

extension ProcedureProgress: CustomStringConvertible {
  /// The progress in logs: `45 %`, `9 of 20 (45 %)`.
  public var description: String {
    guard let completedUnits, let totalUnits else { return "\(percent) %" }
    return "\(completedUnits) of \(totalUnits) (\(percent) %)"
  }

  /// The whole percents that are done, rounded down: 29 of 100 are 29, though the nearest fraction is smaller than 0.29.
  public var percent: Int { Int(fraction * 100 + 1e-9) }
}
