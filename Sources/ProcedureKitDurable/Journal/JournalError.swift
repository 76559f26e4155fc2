import ProcedureKit

/// An error of a ``ProcedureJournal``, or an error in encoding a value for a journal or decoding a value from it.
///
/// Later versions can add kinds, so a `switch` over ``kind-swift.property`` needs a `default`.
public struct JournalError: Error, Sendable, CustomStringConvertible {
  /// The kind of a ``JournalError``.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, for example `damaged`.
    public let description: String

    private init(_ name: String) { description = name }

    /// A value could not be encoded. The procedure fails, because its value would be lost.
    public static let valueNotEncodable = Kind("valueNotEncodable")
    /// An entry could not be decoded as the type that the procedure now has. Give the procedure a new version.
    public static let valueNotDecodable = Kind("valueNotDecodable")
    /// An entry, or the storage, was changed by another program.
    public static let damaged = Kind("damaged")
    /// An entry that existed when the run started no longer exists, or has a different value now.
    public static let entryMissing = Kind("entryMissing")
    /// The storage was written in the format of another version of the library.
    public static let unknownVersion = Kind("unknownVersion")
    /// The storage is not a journal.
    public static let notAJournal = Kind("notAJournal")
    /// Another process, or another journal in this process, is using the storage.
    public static let inUse = Kind("inUse")
    /// The storage cannot be opened or read.
    public static let unreadable = Kind("unreadable")
    /// An entry could not be written, for example because the disk is full. Earlier entries are still readable.
    public static let unwritable = Kind("unwritable")
    /// The storage was renamed, removed or replaced while the journal was open.
    public static let moved = Kind("moved")
    /// The journal was closed.
    public static let closed = Kind("closed")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The name of the journal.
  public let journal: String
  /// What failed, why, and what can be done about it.
  public let explanation: String
  /// The underlying error.
  public let underlying: (any Error)?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - kind: The kind of the error.
  ///   - journal: The name of the journal.
  ///   - explanation: What failed, why, and what can be done about it, as the rest of a sentence that begins with the name of the journal.
  ///   - underlying: The underlying error.
  public init(_ kind: Kind, journal: String, _ explanation: String, underlying: (any Error)? = nil) {
    self.kind = kind
    self.journal = journal
    self.explanation = explanation
    self.underlying = underlying
  }

  /// The journal, the explanation and the underlying error.
  public var description: String {
    "the journal \(journal) \(explanation)".inOneLine + (underlying.map { ": \("\($0)".inLines)" } ?? "")
  }
}

/// The failure of an earlier run, for a procedure that also remembers failures.
///
/// The original error was lost when its process ended; only its description is kept.
public struct RememberedFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path of the procedure or the node in the journal.
  public let path: String
  /// The description of the original error. The description of this error is the same.
  public let description: String

  /// Creates a failure for tests.
  ///
  /// - Parameters:
  ///   - path: The path of the procedure or the node in the journal.
  ///   - description: The description of the original error.
  public init(path: String, description: String) {
    self.path = path
    self.description = description
  }
}
