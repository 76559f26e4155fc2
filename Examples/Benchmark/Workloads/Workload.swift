/// Work that contestants do in different ways so that their costs can be compared.
struct Workload: Sendable {
  let id: String
  /// The number of units, unless the command line specifies another number.
  let units: Int
  private let name: String
  /// Whether the workload takes so long that it is measured only on request.
  let isLong: Bool
  /// Whether the contestants need an HTTP server.
  let needsServer: Bool
  /// The number of executions in one process. If there are several, the first one is the warm-up, and the median of the others is used.
  let executions: Int
  private(set) var contestants: [Contestant]

  init(
    _ id: String, _ name: String, units: Int, isLong: Bool = false, needsServer: Bool = false, executions: Int = 6,
    _ contestants: [Contestant]
  ) {
    self.id = id
    self.name = name
    self.units = units
    self.isLong = isLong
    self.needsServer = needsServer
    self.executions = executions
    self.contestants = contestants
  }

  func title(units: Int) -> String {
    "\(name), \(units.grouped)"
  }

  var countsBytes: Bool {
    contestants.contains(where: \.countsBytes)
  }

  /// Returns the workload with only the contestants in the given roles.
  func limited(to roles: Set<Contestant.Role>) -> Workload {
    var workload = self
    workload.contestants.removeAll { !roles.contains($0.role) }
    return workload
  }

  /// A workload that compares ProcedureKit's contestants at a million units and at a hundredth of that number.
  var growth: Workload {
    let largest = 1_000_000
    let pairs = contestants.flatMap { contestant -> [Contestant] in
      guard case .procedureKit(let way) = contestant.role, Self.growing.contains(way) else { return [] }
      return [
        contestant.playing(Self.hundredth(of: way), withUnitsDividedBy: 100),
        contestant.playing(contestant.role, withUnitsDividedBy: 1),
      ]
    }
    return Workload("P9 \(id)", "\(name), full and 1/100", units: largest, isLong: true, executions: 2, pairs)
  }

  private static let growing: Set = ["run", "add"]

  static func hundredth(of way: String) -> Contestant.Role {
    .procedureKit("\(way), 1/100")
  }
}
