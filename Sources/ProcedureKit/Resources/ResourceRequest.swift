/// Internal. What a table knows a resource by.
enum ResourceKey: Hashable, Sendable {
  /// A category that users name by a value of theirs.
  case category(InternedKey)
  /// A resource of so many units.
  case units(name: String)
  /// An execution that others wait for.
  case sharedWork(SharedWorkTable.Key)
}

/// Internal. Names a category by a type.
struct TypeCategory: Hashable, Sendable, CustomStringConvertible {
  private let type: ObjectIdentifier
  let description: String

  init(_ type: Any.Type) {
    self.type = ObjectIdentifier(type)
    description = String(describing: type)
  }
}

extension ResourceKey: CustomStringConvertible {
  /// The name of the resource, as people read it.
  var description: String {
    switch self {
    case .category(let key): "\(key.value)"
    case .units(let name): name
    case .sharedWork(let work): "the execution of \(work.key.value)"
    }
  }
}

/// Internal. All that one level of a procedure wants to hold: a value that is made once, with the modifier.
struct ResourceRequest: Sendable {
  struct Demand: Sendable {
    let key: ResourceKey
    var units: Int32
    let capacity: Int32
  }

  /// One for each resource.
  private(set) var demands: [Demand] = []

  /// One category for each of the values, to be held alone or together with other readers.
  init(categories: [any Hashable & Sendable], isShared: Bool) {
    let units = isShared ? 1 : ResourceLedger.wholeCategory
    for category in categories {
      add(
        Demand(
          key: .category(.of(category)), units: units, capacity: ResourceLedger.wholeCategory))
    }
  }

  /// An execution, for the one that executes.
  init(sharedWork key: SharedWorkTable.Key) {
    let whole = ResourceLedger.wholeCategory
    add(Demand(key: .sharedWork(key), units: whole, capacity: whole))
  }

  /// Units of one resource.
  init(_ resource: Resource, units: Int) {
    add(Demand(key: .units(name: resource.name), units: Int32(units), capacity: Int32(resource.capacity)))
  }

  /// Both requests together. Who wants to read and to exclude excludes; units add up.
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
