extension FileAccess {
  /// Permissions for a file or a folder.
  public struct Permissions: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// The permissions as `chmod` bits: 4 for reading, 2 for writing, and 1 for executing.
    public let rawValue: Int

    /// Creates permissions from `chmod` bits.
    public init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// Permission to read a file or list a folder.
    public static let read = Permissions(rawValue: 4)
    /// Permission to change a file, or to add and remove files in a folder.
    public static let write = Permissions(rawValue: 2)
    /// Permission to run a file or enter a folder.
    public static let execute = Permissions(rawValue: 1)

    /// The names of the permissions as they appear in messages, for example "read, write".
    public var description: String {
      let names: [(Permissions, String)] = [(.read, "read"), (.write, "write"), (.execute, "execute")]
      let held = names.filter { contains($0.0) }.map(\.1)
      return held.isEmpty ? "nothing" : held.joined(separator: ", ")
    }
  }
}
