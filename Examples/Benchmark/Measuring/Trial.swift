/// A prepared piece of work that can be timed any number of times.
struct Trial: Sendable {
  /// An error that is thrown when the work returns a wrong result.
  struct WrongResult: Error, CustomStringConvertible {
    let found: Int
    let expected: Int

    var description: String { "a contestant returned \(found) instead of \(expected)" }
  }

  /// The number of bodies. The cost of an execution is divided by this number.
  let units: Int
  private let body: @concurrent @Sendable () async throws -> Void

  init(units: Int, _ body: @escaping @concurrent @Sendable () async throws -> Void) {
    self.units = units
    self.body = body
  }

  /// Creates a piece of work whose result is a number.
  init(units: Int, expecting expected: Int, _ body: @escaping @concurrent @Sendable () async throws -> Int) {
    self.init(units: units) {
      let found = try await body()
      guard found == expected else { throw WrongResult(found: found, expected: expected) }
    }
  }

  /// Executes the work once.
  ///
  /// - Returns: Nanoseconds per unit.
  /// - Throws: ``WrongResult`` if the result is not the expected one; any error thrown by the work.
  func run() async throws -> Double {
    let start = ContinuousClock.now
    try await body()
    return (ContinuousClock.now - start) / .nanoseconds(1) / Double(units)
  }
}
