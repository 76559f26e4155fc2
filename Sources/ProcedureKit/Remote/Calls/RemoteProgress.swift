/// How far an execution on another machine is.
public struct RemoteProgress: Hashable, Codable, Sendable {
  /// The finished part, from 0 to 1; `nil` if it is unknown.
  public var fraction: Double?
  /// The present step, for people.
  public var message: String

  /// Makes a progress.
  ///
  /// - Parameters:
  ///   - fraction: The finished part. A value outside of 0 to 1 becomes the nearest of the two, and NaN becomes `nil`.
  ///   - message: The present step.
  public init(_ fraction: Double?, _ message: String = "") {
    self.fraction = fraction.flatMap { $0.isNaN ? nil : min(max($0, 0), 1) }
    self.message = message
  }
}
