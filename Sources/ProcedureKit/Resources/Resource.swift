/// A resource with a number of units, which procedures hold while they execute.
///
/// ```swift
/// let gpu = Resource("gpu", capacity: 4)
/// let train = Train().uses(gpu, units: 2)
/// ```
///
/// In a ``ResourceTable``, two resources with the same name are one resource, so they must declare the same capacity. While the resource is
/// in use, a procedure that claims it with a different capacity fails with ``ProcedureError/Kind/resourceConflict``.
/// ``ResourceTable/setCapacity(_:of:)`` changes the capacity at run time. The operator `==` compares the bytes of the names, and the
/// capacities.
public struct Resource: Sendable, Hashable {
  /// The name, which identifies the resource.
  public let name: String
  /// The number of units.
  public let capacity: Int

  /// Creates a resource.
  ///
  /// - Parameters:
  ///   - name: The name, which identifies the resource.
  ///   - capacity: The number of units, from 1 to 2,147,483,646. Any other number traps.
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
  /// A category, which is identified by a value that the user has chosen.
  case category(InternedKey)
  /// A resource with a number of units.
  case units(name: ByteText)
}

/// Internal. A category that is identified by a type.
struct TypeCategory: Hashable, Sendable, CustomStringConvertible {
  private let type: ObjectIdentifier
  let description: String

  init(_ type: Any.Type) {
    self.type = ObjectIdentifier(type)
    description = String(describing: type)
  }
}

extension ResourceKey: CustomStringConvertible {
  /// The name of the resource for messages.
  var description: String {
    switch self {
    case .category(let key): "\(key.value)"
    case .units(let name): name.text
    }
  }
}

/// Internal. The resources that one layer of a procedure claims. The modifier creates this value once.
struct ResourceRequest: Sendable {
  struct Demand: Sendable {
    let key: ResourceKey
    var units: Int32
    let capacity: Int32
  }

  /// The units of a category. A holder of all of them excludes all other runs.
  static let wholeCategory = Int32.max

  /// The demands, one for each resource.
  private(set) var demands: [Demand] = []

  /// Creates a request for several categories, either all exclusive or all shared.
  init(categories: [any Hashable & Sendable], isShared: Bool) {
    let units = isShared ? 1 : Self.wholeCategory
    for category in categories {
      add(Demand(key: .category(.of(category)), units: units, capacity: Self.wholeCategory))
    }
  }

  /// Creates a request for units of one resource.
  init(_ resource: Resource, units: Int) {
    add(Demand(key: .units(name: ByteText(resource.name)), units: Int32(units), capacity: Int32(resource.capacity)))
  }

  /// Two different declarations of one resource in one layer.
  struct Contradiction {
    let key: ResourceKey
    let capacity: Int32
    let otherCapacity: Int
  }

  /// Merges demands into one for each resource. An exclusive demand includes a shared one, and units add up. O(n).
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

  /// Returns the total units of a resource that a layer needs.
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
