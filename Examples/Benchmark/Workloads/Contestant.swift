/// One way to do the work of a workload.
struct Contestant: Sendable {
  /// Whose way it is.
  enum Role: Hashable, Sendable {
    /// What a good engineer writes by hand, with the language's own means.
    case floor
    case operationQueue
    case dispatch
    /// A mechanism by hand for what one of ProcedureKit's ways does, with nothing else; see ``BareWork``.
    case bare(String)
    /// One of ProcedureKit's ways.
    case procedureKit(String)
  }

  private enum Method: Sendable {
    case time(@Sendable (Int) -> Trial)
    case bytes(Store, @Sendable (MemoryProbe) -> Double)
  }

  let role: Role
  private let method: Method
  /// More than that takes it too long; its cost a unit is what is compared.
  private let mostUnits: Int
  /// Which part of the units it is given.
  private let divisor: Int

  private init(_ role: Role, _ method: Method, mostUnits: Int, divisor: Int) {
    self.role = role
    self.method = method
    self.mostUnits = mostUnits
    self.divisor = divisor
  }

  /// A contestant that is timed.
  ///
  /// - Parameters:
  ///   - role: Whose way it is.
  ///   - mostUnits: How many units it is given at most.
  ///   - trial: Prepares the work for so many units.
  init(_ role: Role, mostUnits: Int = .max, _ trial: @escaping @Sendable (Int) -> Trial) {
    self.init(role, .time(trial), mostUnits: mostUnits, divisor: 1)
  }

  /// A contestant of which the memory is counted.
  init(_ role: Role, _ store: Store, mostUnits: Int = .max, _ value: @escaping @Sendable (MemoryProbe) -> Double) {
    self.init(role, .bytes(store, value), mostUnits: mostUnits, divisor: 1)
  }

  /// The same in another role, with a part of the units.
  func playing(_ role: Role, withUnitsDividedBy divisor: Int) -> Contestant {
    Contestant(role, method, mostUnits: mostUnits, divisor: divisor)
  }

  var countsBytes: Bool {
    if case .bytes = method { true } else { false }
  }

  /// Measures it once.
  ///
  /// - Returns: Nanoseconds or bytes a unit.
  /// - Throws: What the work throws.
  func cost(units: Int) async throws -> Double {
    switch method {
    case .time: try await trial(units: units)?.run() ?? 0
    case .bytes(let store, let value):
      value(try MemoryProbe.measureInChild(store, units: share(of: units)))
    }
  }

  /// The work for so many units of the workload; `nil` where it is not timed.
  func trial(units: Int) -> Trial? {
    if case .time(let trial) = method { trial(share(of: units)) } else { nil }
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
