internal import ProcedureKit
public import ProcedureKitFoundation

/// A store that keeps the values of finished work after the process ends. Journals are used by the modifiers
/// `remembered(in:as:version:rememberingFailures:)` and `durable(in:as:version:rememberingFailures:)`, and by the modifiers that count
/// attempts and time across processes: `retry(_:maxAttempts:countedIn:as:when:)` and `timeout(_:countedIn:as:)`.
///
/// A journal stores bytes under keys and does not interpret the bytes. A ``FileJournal`` stores them in a file, and an ``InMemoryJournal``
/// is intended for tests. A custom journal, for example one that uses a database, must provide these guarantees:
///
/// - Once ``append(_:for:)`` returns, ``read(_:)`` returns the bytes, even in a process that is started after this process is killed.
/// - If an entry exists, so do all entries whose `append` returned before this entry's `append` was called.
/// - Reading an entry returns exactly the bytes that were appended. Reading a damaged entry throws an error.
///
/// All functions can be called concurrently.
public protocol ProcedureJournal: Sendable {
  /// The name of the journal as it appears in errors, in logs, and in events that report reused values.
  var name: String { get }

  /// The coder that encodes and decodes values for this journal. Entries that were written with one coder cannot be read with another.
  var coder: any ProcedureCoder { get }

  /// The time since 1970, which is used to measure times across processes. The clock must keep running even when no process is running.
  var timeSince1970: Duration { get }

  /// Appends an entry, which replaces any earlier entry for the same key.
  ///
  /// Cancelling the caller has no effect: the function returns only after the entry has been stored as durably as the journal promises. The
  /// library calls this function in a shield that has no time limit (`ProcedureContext.shielded(atMost:_:)`). An implementation can
  /// therefore use procedures and other code that checks for cancellation.
  ///
  /// - Parameters:
  ///   - bytes: The bytes to store, which can be empty.
  ///   - key: The key.
  /// - Throws: An error if the entry was not stored. Earlier entries stay readable.
  func append(_ bytes: [UInt8], for key: JournalKey) async throws

  /// Returns the bytes of the latest entry for a key. Cancelling the caller has no effect.
  ///
  /// - Parameter key: The key.
  /// - Returns: The bytes, or `nil` if there is no entry for the key.
  /// - Throws: An error if the entry is damaged or cannot be read.
  func read(_ key: JournalKey) async throws -> [UInt8]?

  /// Returns the key of the latest entry with the given path, regardless of the key's fingerprint.
  ///
  /// The library uses the key to explain why a procedure is executed again, and to find out how long the procedure took the last time.
  /// Cancelling the caller has no effect.
  ///
  /// - Parameter path: The path.
  /// - Returns: The key, or `nil` if there is no such entry or the journal cannot search by path. The default implementation returns `nil`.
  /// - Throws: An error if the journal cannot be read.
  func latestKey(at path: String) async throws -> JournalKey?
}

extension ProcedureJournal {
  /// Returns `nil`, which means that the journal cannot search by path; see ``latestKey(at:)``.
  public func latestKey(at path: String) async throws -> JournalKey? { nil }

  /// Appends an entry. Cancelling the procedure does not interrupt the append.
  func appendShielded(_ bytes: [UInt8], for key: JournalKey) async throws {
    // These journals do not check for cancellation, so they need no shield.
    if self is FileJournal || self is InMemoryJournal { return try await append(bytes, for: key) }
    guard let context = ProcedureContext.current else {
      return try await Spawner.runShielded(executor: nil) { try await append(bytes, for: key) }
    }
    try await context.shielded("journal \(name)", atMost: nil) { try await append(bytes, for: key) }
  }
}

/// The key of an entry in a ``ProcedureJournal``. It consists of a path that identifies the work, and a fingerprint of the names, versions
/// and inputs that the value depends on.
///
/// Two keys are equal if their fingerprints are equal and their paths consist of the same bytes. Paths that contain different encodings of
/// `é` are therefore different.
public struct JournalKey: Hashable, Sendable, CustomStringConvertible {
  /// The name of the procedure, or the names of the graph and the node, such as `thumbnails/resize`.
  public let path: String
  /// The fingerprint of the names, versions and inputs that the value depends on. It does not depend on values that a body requests by key,
  /// because these are known only after the body has been executed.
  public let fingerprint: Fingerprint

  /// Creates a key.
  ///
  /// - Parameters:
  ///   - path: The name of the procedure, or the names of the graph and the node.
  ///   - fingerprint: The fingerprint of the names, versions and inputs that the value depends on.
  public init(path: String, fingerprint: Fingerprint) {
    self.path = path
    self.fingerprint = fingerprint
  }

  /// Returns whether two keys have the same fingerprint and paths that consist of the same bytes.
  public static func == (one: JournalKey, other: JournalKey) -> Bool {
    one.fingerprint == other.fingerprint && one.path.hasBytes(of: other.path)
  }

  /// Hashes the bytes of the path and the fingerprint.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytesOf: path)
    hasher.combine(fingerprint)
  }

  /// The path and the beginning of the fingerprint, such as `thumbnails/resize@1f3a6c22`.
  public var description: String { "\(path)@\(fingerprint.description.prefix(8))" }
}

/// A SHA-256 hash that identifies data. Equal bytes have equal fingerprints in every process and on every machine.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
  /// The bytes of the hash, as four words. The first byte is the most significant byte of `first`. An array would need too much memory,
  /// because a journal holds many fingerprints.
  private let first, second, third, fourth: UInt64

  /// Creates a fingerprint from its bytes. Returns `nil` if there are not exactly 32 bytes.
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

  /// Computes the fingerprint of the parts that `addParts` adds.
  init(_ addParts: (inout Parts) -> Void) {
    var parts = Parts()
    addParts(&parts)
    self.init(of: parts.message)
  }

  /// A message that consists of parts. The boundaries of the parts matter: the fingerprints of `"ab", "c"` and `"a", "bc"` are different.
  struct Parts {
    fileprivate var message: [UInt8] = []

    init() { message.reserveCapacity(256) }

    mutating func add(_ part: [UInt8]) {
      message.append(littleEndian: UInt64(part.count))
      message += part
    }

    mutating func add(_ text: String) {
      message.append(littleEndian: UInt64(text.utf8.count))
      message += text.utf8
    }

    mutating func add(_ number: UInt32) {
      message.append(littleEndian: UInt64(4))
      message.append(littleEndian: number)
    }

    mutating func add(_ fingerprint: Fingerprint) {
      message.append(littleEndian: UInt64(32))
      for word in fingerprint.words { message.append(littleEndian: word.byteSwapped) }
    }
  }

  private init(_ bytes: [UInt8]) {
    func word(_ index: Int) -> UInt64 {
      var word: UInt64 = 0
      for position in 8 * index..<8 * index + 8 { word = word << 8 | UInt64(bytes[position]) }
      return word
    }
    (first, second, third, fourth) = (word(0), word(1), word(2), word(3))
  }

  fileprivate var words: [UInt64] { [first, second, third, fourth] }

  /// The 32 bytes of the hash.
  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32)
    for word in [first, second, third, fourth] {
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    return bytes
  }

  /// The first 8 bytes of the hash. To explain why a node is executed again, the library compares only these bytes.
  var prefix: UInt64 { first }

  /// The bytes of the hash as 64 hexadecimal digits.
  public var description: String {
    words.map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    .joined()
  }
}
