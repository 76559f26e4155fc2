/// The key of an entry in a ``ProcedureJournal``: the place of the work, and a fingerprint of everything the value depends on.
///
/// Two keys are equal if the bytes of their paths and their fingerprints are: `é` in two spellings makes two keys.
public struct JournalKey: Hashable, Sendable, CustomStringConvertible {
  /// The name of the procedure, or the names of the graph and the node: `thumbnails/resize`.
  public let path: String
  /// The fingerprint of the names, the versions and the inputs.
  public let fingerprint: Fingerprint

  /// Makes a key.
  ///
  /// - Parameters:
  ///   - path: The name of the procedure, or the names of the graph and the node.
  ///   - fingerprint: The fingerprint of everything the value depends on.
  public init(path: String, fingerprint: Fingerprint) {
    self.path = path
    self.fingerprint = fingerprint
  }

  /// Compares the bytes of the paths, and the fingerprints.
  public static func == (one: JournalKey, other: JournalKey) -> Bool {
    one.fingerprint == other.fingerprint && one.path.hasBytes(of: other.path)
  }

  /// Hashes the bytes of the path, and the fingerprint.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytesOf: path)
    hasher.combine(fingerprint)
  }

  /// The path and the beginning of the fingerprint: `thumbnails/resize@1f3a6c22`.
  public var description: String { "\(path)@\(fingerprint.description.prefix(8))" }
}
