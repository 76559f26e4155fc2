/// One way to do the work of a workload.
struct Contestant: Sendable {
  /// The implementation that a contestant uses.
  enum Role: Hashable, Sendable {
    /// Code that a good engineer would write by hand, using only the language.
    case floor
    case operationQueue
    case dispatch
    /// Hand-written code that does the same work as one of ProcedureKit's contestants, and nothing else; see ``BareWork``.
    case bare(String)
    /// A way to do the work with ProcedureKit.
    case procedureKit(String)
  }

  private enum Method: Sendable {
    case time(@Sendable (Int) throws -> Trial)
    case bytes(Store, @Sendable (MemoryProbe) -> Double)
  }

  let role: Role
  private let method: Method
  /// The maximum number of units. More units would take too long, and are not needed to compare the costs per unit.
  private let mostUnits: Int
  /// The value by which the number of units is divided.
  private let divisor: Int

  private init(_ role: Role, _ method: Method, mostUnits: Int, divisor: Int) {
    self.role = role
    self.method = method
    self.mostUnits = mostUnits
    self.divisor = divisor
  }

  /// Creates a contestant that is timed.
  ///
  /// - Parameters:
  ///   - role: The implementation that the contestant uses.
  ///   - mostUnits: The maximum number of units.
  ///   - trial: A closure that prepares the work for a number of units.
  init(_ role: Role, mostUnits: Int = .max, _ trial: @escaping @Sendable (Int) throws -> Trial) {
    self.init(role, .time(trial), mostUnits: mostUnits, divisor: 1)
  }

  /// Creates a contestant whose memory use is measured.
  init(_ role: Role, _ store: Store, mostUnits: Int = .max, _ value: @escaping @Sendable (MemoryProbe) -> Double) {
    self.init(role, .bytes(store, value), mostUnits: mostUnits, divisor: 1)
  }

  /// Returns the contestant in another role, with a fraction of the units.
  func playing(_ role: Role, withUnitsDividedBy divisor: Int) -> Contestant {
    Contestant(role, method, mostUnits: mostUnits, divisor: divisor)
  }

  var countsBytes: Bool {
    if case .bytes = method { true } else { false }
  }

  /// The environment variables that the process needs.
  var environment: [String: String] {
    // The C library's allocator uses only one arena, so that memory that one thread releases is available to the others.
    countsBytes ? ["MALLOC_ARENA_MAX": "1"] : [:]
  }

  /// Measures the contestant in this process.
  ///
  /// - Returns: Nanoseconds or bytes per unit, for each execution.
  /// - Throws: Any error thrown by the work.
  func costs(units: Int, times: Int) async throws -> [Double] {
    var costs: [Double] = []
    switch method {
    case .time(let trial):
      let trial = try trial(share(of: units))
      for _ in 0..<times { costs.append(try await trial.run()) }
    case .bytes(let store, let value):
      for _ in 0..<times { costs.append(value(try await MemoryProbe.measure(store, units: share(of: units)))) }
    }
    return costs
  }

  /// Returns the work for a number of units; `nil` if the contestant is not timed.
  ///
  /// - Throws: Any error thrown while preparing the work.
  func trial(units: Int) throws -> Trial? {
    if case .time(let trial) = method { try trial(share(of: units)) } else { nil }
  }

  private func share(of units: Int) -> Int {
    max(1, min(units / divisor, mostUnits))
  }
}

extension Contestant.Role: CustomStringConvertible {
  var description: String {
    switch self {
    case .floor: "floor"
    case .operationQueue: "OperationQueue"
    case .dispatch: "Dispatch"
    case .bare(let way): "bare \(way)"
    case .procedureKit(let way): way
    }
  }
}
