/// One piece of work, prepared and ready to be timed.
struct Trial: Sendable {
  /// What a contestant came to, where that can only be one thing.
  struct WrongResult: Error, CustomStringConvertible {
    let found: Int
    let expected: Int

    var description: String { "a contestant came to \(found) instead of \(expected)" }
  }

  /// How many bodies there are, over which the cost is divided.
  let units: Int
  private let body: @concurrent @Sendable () async throws -> Void

  init(units: Int, _ body: @escaping @concurrent @Sendable () async throws -> Void) {
    self.units = units
    self.body = body
  }

  /// A piece of work that comes to a number.
  init(units: Int, expecting expected: Int, _ body: @escaping @concurrent @Sendable () async throws -> Int) {
    self.init(units: units) {
      let found = try await body()
      guard found == expected else { throw WrongResult(found: found, expected: expected) }
    }
  }

  /// Does the work once.
  ///
  /// - Returns: Nanoseconds a unit.
  /// - Throws: ``WrongResult``, and what the work throws.
  func run() async throws -> Double {
    let start = ContinuousClock.now
    try await body()
    return (ContinuousClock.now - start) / .nanoseconds(1) / Double(units)
  }
}
