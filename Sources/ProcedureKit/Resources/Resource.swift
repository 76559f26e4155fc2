/// A resource that consists of a number of units, which procedures hold while they execute.
///
/// ```swift
/// let gpu = Resource("gpu", capacity: 4)
/// let train = Train().uses(gpu, units: 2)
/// ```
///
/// A ``ResourceTable`` treats two resources with the same name as one, so they must declare the same capacity. If a procedure claims a
/// resource that is in use, but declares a different capacity, the procedure fails with ``ProcedureError/Kind/resourceConflict``. Use
/// ``ResourceTable/setCapacity(_:of:)`` to change the capacity at run time. The operator `==` compares the capacities and compares the
/// names byte by byte.
public struct Resource: Sendable, Hashable {
  /// The name, which identifies the resource.
  public let name: String
  /// The number of units.
  public let capacity: Int

  /// Creates a resource.
  ///
  /// - Parameters:
  ///   - name: The name, which identifies the resource.
  ///   - capacity: The number of units, from 1 to 2,147,483,646. Passing any other number traps.
  public init(_ name: String, capacity: Int) {
    require(
      (1..<Int(ResourceRequest.wholeCategory)).contains(capacity),
      "Resource \"\(name)\": the capacity must be between 1 and \(Int32.max - 1), got \(capacity)")
    self.name = name
    self.capacity = capacity
  }

  /// Returns whether two resources have equal capacities and equal names. Names are compared byte by byte.
  public static func == (one: Resource, other: Resource) -> Bool {
    one.capacity == other.capacity && one.name.hasBytes(of: other.name)
  }

  /// Hashes the capacity and the bytes of the name.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytesOf: name)
    hasher.combine(capacity)
  }
}

/// The key that a table uses to identify a resource.
enum ResourceKey: Hashable, Sendable {
  /// A category, identified by a value that the user provides.
  case category(InternedKey)
  /// A resource with units, identified by its name.
  case units(name: ByteText)
}

/// A category that is identified by a type.
struct TypeCategory: Hashable, Sendable, CustomStringConvertible {
  private let type: ObjectIdentifier
  let description: String

  init(_ type: Any.Type) {
    self.type = ObjectIdentifier(type)
    description = String(describing: type)
  }
}

extension ResourceKey: CustomStringConvertible {
  /// The name of the resource as it appears in messages.
  var description: String {
    switch self {
    case .category(let key): "\(key.value)"
    case .units(let name): name.text
    }
  }
}

/// The resources that one layer of a procedure claims. A modifier creates this value once, for all runs.
struct ResourceRequest: Sendable {
  struct Demand: Sendable {
    let key: ResourceKey
    var units: Int32
    let capacity: Int32
  }

  /// The number of units in a category. A run that holds all of them excludes all other runs.
  static let wholeCategory = Int32.max

  /// The demands, one for each resource.
  let demands: [Demand]

  /// Creates a request for several categories, which are either all exclusive or all shared.
  init(categories: [any Hashable & Sendable], isShared: Bool) {
    let units = isShared ? 1 : Self.wholeCategory
    let all = categories.map { Demand(key: .category(.of($0)), units: units, capacity: Self.wholeCategory) }
    demands = Self.merged(all).demands
  }

  /// Creates a request for units of one resource.
  init(_ resource: Resource, units: Int) {
    let key = ResourceKey.units(name: ByteText(resource.name))
    demands = [Demand(key: key, units: Int32(units), capacity: Int32(resource.capacity))]
  }

  /// Two different capacities that one layer declares for the same resource.
  struct Contradiction {
    let key: ResourceKey
    let capacity: Int32
    let otherCapacity: Int
  }

  /// Merges demands so that there is one for each resource. An exclusive demand includes a shared one, and units are added together.
  ///
  /// - Complexity: O(n) for n demands.
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

  /// Returns how many units of a resource a layer needs in total.
  static func units(of key: ResourceKey, in demands: [Demand]) -> Int {
    demands.reduce(0) { $1.key == key ? $0 + Int($1.units) : $0 }
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
