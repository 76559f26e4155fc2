extension FileAccess {
  /// What can be done with a file or a folder.
  public struct Permissions: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// One bit for each: 4 to read, 2 to write, 1 to execute, as `chmod` has them.
    public let rawValue: Int

    /// Permissions from the bits of `chmod`.
    public init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// To read a file; to list a folder.
    public static let read = Permissions(rawValue: 4)
    /// To change a file; to add to a folder and to remove from it.
    public static let write = Permissions(rawValue: 2)
    /// To run a file; to enter a folder.
    public static let execute = Permissions(rawValue: 1)

    /// What they are, as people read it: "read, write".
    public var description: String {
      let names: [(Permissions, String)] = [(.read, "read"), (.write, "write"), (.execute, "execute")]
      let held = names.filter { contains($0.0) }.map(\.1)
      return held.isEmpty ? "nothing" : held.joined(separator: ", ")
    }
  }
}
