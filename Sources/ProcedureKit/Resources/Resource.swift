/// A resource with a number of units, which runs hold while they execute.
///
/// ```swift
/// let gpu = Resource("gpu", capacity: 4)
/// let train = Train().uses(gpu, units: 2)
/// ```
///
/// Two resources with one name are one resource in a ``ResourceTable``, and have to have the same capacity: while the resource is
/// in use, a run that claims it with another capacity fails with
/// ``ProcedureError/Kind/resourceConflict``. ``ResourceTable/setCapacity(_:of:)`` changes
/// the capacity while the program runs. The operator `==` compares names, byte by byte, and capacities.
public struct Resource: Sendable, Hashable {
  /// The name, which identifies the resource.
  public let name: String
  /// The number of units.
  public let capacity: Int

  /// Makes a resource.
  ///
  /// - Parameters:
  ///   - name: The name, which identifies the resource.
  ///   - capacity: The number of units, from 1 to 2,147,483,646. Another number traps.
  public init(_ name: String, capacity: Int) {
    require(
      (1..<Int(ResourceRequest.wholeCategory)).contains(capacity),
      "Resource \"\(name)\": capacity must be between 1 and \(Int32.max - 1), got \(capacity)")
    self.name = name
    self.capacity = capacity
  }

  /// Compares the bytes of the names, and the capacities.
  public static func == (one: Resource, other: Resource) -> Bool {
    one.capacity == other.capacity && one.name.hasBytes(of: other.name)
  }

  /// Hashes the bytes of the name, and the capacity.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytesOf: name)
    hasher.combine(capacity)
  }
}

/// Internal. The key of a resource in a table.
enum ResourceKey: Hashable, Sendable {
  /// A category that users name by a value of theirs.
  case category(InternedKey)
  /// A resource of so many units.
  case units(name: ByteText)
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
    case .units(let name): name.text
    }
  }
}

/// Internal. All that one layer of a procedure wants to hold: a value that is made once, with the modifier.
struct ResourceRequest: Sendable {
  struct Demand: Sendable {
    let key: ResourceKey
    var units: Int32
    let capacity: Int32
  }

  /// The units of a category: to hold all of them is to exclude everybody else.
  static let wholeCategory = Int32.max

  /// One for each resource.
  private(set) var demands: [Demand] = []

  /// One category for each of the values, to be held alone or together with other readers.
  init(categories: [any Hashable & Sendable], isShared: Bool) {
    let units = isShared ? 1 : Self.wholeCategory
    for category in categories {
      add(Demand(key: .category(.of(category)), units: units, capacity: Self.wholeCategory))
    }
  }

  /// Units of one resource.
  init(_ resource: Resource, units: Int) {
    add(Demand(key: .units(name: ByteText(resource.name)), units: Int32(units), capacity: Int32(resource.capacity)))
  }

  /// Two declarations of one resource in one layer.
  struct Contradiction {
    let key: ResourceKey
    let capacity: Int32
    let otherCapacity: Int
  }

  /// The demands with one for each resource: a demand to share and to exclude excludes; units add up. O(n).
  static func merged(_ demands: [Demand]) -> (demands: [Demand], Contradiction?) {
    guard demands.count > 1 else { return (demands, nil) }
    var positions: [ResourceKey: Int] = [:]
    var merged: [Demand] = []
    for demand in demands {
      guard let position = positions[demand.key] else {
        positions[demand.key] = merged.count
        merged.append(demand)
        continue
      }
      guard demand.capacity == merged[position].capacity else {
        let other = Int(merged[position].capacity)
        return ([], Contradiction(key: demand.key, capacity: demand.capacity, otherCapacity: other))
      }
      merged[position].add(demand)
    }
    return (merged, nil)
  }

  /// The units of a resource that a layer needs in all.
  static func units(of key: ResourceKey, in demands: [Demand]) -> Int {
    demands.reduce(0) { $1.key == key ? $0 + Int($1.units) : $0 }
  }

  private mutating func add(_ demand: Demand) {
    demands = Self.merged(demands + [demand]).demands
  }
}

extension ResourceRequest.Demand {
  fileprivate mutating func add(_ other: Self) {
    switch key {
    case .category: units = max(units, other.units)
    case .units: units = Int32(clamping: Int(units) + Int(other.units))
    }
  }
}
