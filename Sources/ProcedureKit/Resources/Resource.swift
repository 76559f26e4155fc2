/// Something of which there are so many units, and of which procedures hold some while they execute.
///
/// ```swift
/// let gpu = Resource("gpu", capacity: 4)
/// let train = Train().uses(gpu, units: 2)
/// ```
///
/// Two resources of the same name are one in a ``ResourceTable``, and have to have the same capacity: it traps where a
/// resource is wanted with one capacity while somebody wants it with another. (`==` compares both.)
public struct Resource: Sendable, Hashable {
  /// What it is called, and known by.
  public let name: String
  /// How many units there are.
  public let capacity: Int

  /// A resource.
  ///
  /// - Parameters:
  ///   - name: What it is called, and known by.
  ///   - capacity: How many units there are; from 1 to 2,147,483,646, or this traps.
  public init(_ name: String, capacity: Int) {
    require(
      (1..<Int(ResourceRequest.wholeCategory)).contains(capacity),
      "Resource \"\(name)\": its capacity is \(capacity), which is not between 1 and \(Int32.max - 1)")
    self.name = name
    self.capacity = capacity
  }
}
