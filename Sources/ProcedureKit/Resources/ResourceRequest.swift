/// Internal. The key of a resource in a table.
enum ResourceKey: Hashable, Sendable {
  /// A category, named by a user's value.
  case category(InternedKey)
  /// A resource with units.
  case units(name: String)
  /// A shared execution.
  case sharedWork(SharedWorkTable.Key)
}

/// Internal. A category named by a type.
struct TypeCategory: Hashable, Sendable, CustomStringConvertible {
  private let type: ObjectIdentifier
  let description: String

  init(_ type: Any.Type) {
    self.type = ObjectIdentifier(type)
    description = String(describing: type)
  }
}

extension ResourceKey: CustomStringConvertible {
  /// The name of the resource in messages.
  var description: String {
    switch self {
    case .category(let key): "\(key.value)"
    case .units(let name): name
    case .sharedWork(let work): "the execution of \(work.key.value)"
    }
  }
}

/// Internal. The demands of one level of a procedure, made once by the modifiers.
struct ResourceRequest: Sendable {
  struct Demand: Sendable {
    let key: ResourceKey
    var units: Int32
    let capacity: Int32
  }

  /// The demands, one for each resource.
  private(set) var demands: [Demand] = []

  /// Requests each category, exclusively or shared.
  init(categories: [any Hashable & Sendable], isShared: Bool) {
    let units = isShared ? 1 : ResourceLedger.wholeCategory
    for category in categories {
      add(
        Demand(
          key: .category(.of(category)), units: units, capacity: ResourceLedger.wholeCategory))
    }
  }

  /// Requests a shared execution exclusively, for the executing run.
  init(sharedWork key: SharedWorkTable.Key) {
    let whole = ResourceLedger.wholeCategory
    add(Demand(key: .sharedWork(key), units: whole, capacity: whole))
  }

  /// Requests units of one resource.
  init(_ resource: Resource, units: Int) {
    add(Demand(key: .units(name: resource.name), units: Int32(units), capacity: Int32(resource.capacity)))
  }

  /// Returns the combination of both requests. For a category, an exclusive request overrides a shared one; units add
  /// up.
  func merging(_ other: ResourceRequest) -> ResourceRequest {
    var merged = self
    for demand in other.demands { merged.add(demand) }
    return merged
  }

  private mutating func add(_ demand: Demand) {
    guard let index = demands.firstIndex(where: { $0.key == demand.key }) else { return demands.append(demand) }
    switch demand.key {
    case .category, .sharedWork: demands[index].units = max(demands[index].units, demand.units)
    case .units(let name):
      let units = Int(demands[index].units) + Int(demand.units)
      require(
        units <= demand.capacity && demand.capacity == demands[index].capacity,
        "Resource \"\(name)\": a procedure uses \(units) units of it, and it has \(demand.capacity)")
      demands[index].units = Int32(units)
    }
  }
}
