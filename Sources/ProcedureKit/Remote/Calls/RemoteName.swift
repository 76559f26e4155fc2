/// The name and the version of a procedure that is executed elsewhere.
///
/// Client and worker mean the same procedure if the bytes of the names and the versions are equal. Raise the version when the meaning of the procedure, or the
/// type of its input or value, changes.
public struct RemoteName: Hashable, Codable, Sendable, LosslessStringConvertible {
  /// The name, for example "resize".
  public let name: String
  /// The version.
  public let version: Int

  /// Makes a name.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure.
  ///   - version: The version of the procedure.
  public init(_ name: String, version: Int = 1) {
    (self.name, self.version) = (name, version)
  }

  /// Compares the bytes of the names, and the versions.
  public static func == (one: RemoteName, other: RemoteName) -> Bool {
    one.version == other.version && one.name.hasBytes(of: other.name)
  }

  /// Hashes the bytes of the name, and the version.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytesOf: name)
    hasher.combine(version)
  }

  /// Reads a ``description``; `nil` for any other text.
  ///
  /// - Parameter description: The name, an `@` and the version.
  public init?(_ description: String) {
    guard let separator = description.lastIndex(of: "@"),
      let version = Int(description[description.index(after: separator)...])
    else { return nil }
    self.init(String(description[..<separator]), version: version)
  }

  /// The name and the version: `resize@2`.
  public var description: String { "\(name)@\(version)" }
}
