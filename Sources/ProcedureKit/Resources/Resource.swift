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
      "Resource \"\(name)\": its capacity is \(capacity), which is not between 1 and \(Int32.max - 1)")
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
