internal import ProcedureKit
public import ProcedureKitFoundation

/// A store of finished values that outlives the process, for `remembered(in:as:version:rememberingFailures:)` and
/// `durable(in:as:version:rememberingFailures:)`.
///
/// A journal stores bytes under keys, and does not interpret them. A ``FileJournal`` is stored in a file, and an ``InMemoryJournal`` is for
/// tests. A custom journal, for example one in a database, must keep these promises:
///
/// - When ``append(_:for:)`` has returned, a later ``read(_:)`` returns the bytes, even in a process that starts after this process was
///   killed.
/// - If an entry exists, so do all entries whose `append` had returned before that entry's `append` was called.
/// - Reading a damaged entry is an error, and never returns other bytes.
///
/// All functions can be called concurrently.
public protocol ProcedureJournal: Sendable {
  /// The name of the journal in errors, logs, and events about reused values.
  var name: String { get }

  /// The coder that converts values for this journal. A journal that was written with one coder cannot be read with another.
  var coder: any ProcedureCoder { get }

  /// The time since 1970 according to a clock that continues while no process is running, for times that are measured across processes.
  var timeSince1970: Duration { get }

  /// Appends an entry, which replaces any earlier entry for the same key.
  ///
  /// Cancelling the caller does not undo an append: the function returns when the entry has been stored as the journal promises.
  ///
  /// - Parameters:
  ///   - bytes: The bytes; they may be empty.
  ///   - key: The key.
  /// - Throws: The reason why the entry was not stored. Earlier entries stay readable.
  func append(_ bytes: [UInt8], for key: JournalKey) async throws

  /// Returns the bytes of the latest entry for a key. Cancelling the caller has no effect.
  ///
  /// - Parameter key: The key.
  /// - Returns: The bytes, or `nil` if there is no entry.
  /// - Throws: An error if the entry is damaged or cannot be read.
  func read(_ key: JournalKey) async throws -> [UInt8]?

  /// Returns the key of the latest entry with a path, whatever its fingerprint.
  ///
  /// The key is used to explain why a procedure is executed again. Cancelling the caller has no effect.
  ///
  /// - Parameter path: The path.
  /// - Returns: The key, or `nil` if there is none, or if the journal cannot find it. By default, `nil`.
  /// - Throws: An error if the journal cannot be read.
  func latestKey(at path: String) async throws -> JournalKey?
}

extension ProcedureJournal {
  /// Returns `nil`, because the journal cannot look up the key; see ``latestKey(at:)``.
  public func latestKey(at path: String) async throws -> JournalKey? { nil }
}

/// The key of an entry in a ``ProcedureJournal``: the path of the work, and a fingerprint of everything that the value depends on.
///
/// Two keys are equal if their fingerprints and the bytes of their paths are equal, so two spellings of `é` are different keys.
public struct JournalKey: Hashable, Sendable, CustomStringConvertible {
  /// The name of the procedure, or the names of the graph and the node, such as `thumbnails/resize`.
  public let path: String
  /// The fingerprint of the names, the versions and the inputs.
  public let fingerprint: Fingerprint

  /// Creates a key.
  ///
  /// - Parameters:
  ///   - path: The name of the procedure, or the names of the graph and the node.
  ///   - fingerprint: The fingerprint of everything that the value depends on.
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

  /// The path and the beginning of the fingerprint, such as `thumbnails/resize@1f3a6c22`.
  public var description: String { "\(path)@\(fingerprint.description.prefix(8))" }
}

/// A SHA-256 hash. Equal bytes have equal fingerprints in every process and on every machine.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
  /// The bytes, with the first one in the most significant place of the first word. They are not an array, because a journal holds many
  /// fingerprints.
  private let first, second, third, fourth: UInt64

  /// Creates a fingerprint from its bytes; `nil` if there are not exactly 32 of them.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    self.init(Array(bytes))
  }

  /// Computes the fingerprint of some bytes.
  ///
  /// - Complexity: O(n) for n bytes.
  public init(of bytes: some Collection<UInt8>) {
    var hash = SHA256()
    hash.add(Array(bytes))
    self.init(hash.finished())
  }

  /// Computes the fingerprint of several parts. Their boundaries matter: `["ab", "c"]` differs from `["a", "bc"]`.
  init(parts: [[UInt8]]) {
    var hash = SHA256()
    for part in parts {
      hash.add(UInt64(part.count).littleEndianBytes)
      hash.add(part)
    }
    self.init(hash.finished())
  }

  private init(_ bytes: [UInt8]) {
    func word(_ index: Int) -> UInt64 { bytes[8 * index..<8 * index + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    (first, second, third, fourth) = (word(0), word(1), word(2), word(3))
  }

  private var words: [UInt64] { [first, second, third, fourth] }

  /// The 32 bytes of the hash.
  public var bytes: [UInt8] { words.flatMap { $0.littleEndianBytes.reversed() } }

  /// The first 8 bytes, for comparing fingerprints where only an explanation depends on the result.
  var prefix: UInt64 { first }

  /// The bytes as 64 hexadecimal digits.
  public var description: String {
    words.map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    .joined()
  }
}
