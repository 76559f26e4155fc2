import ProcedureKit

/// An error of a ``ProcedureJournal``, or of a value that cannot be encoded for a journal or decoded from it.
///
/// Later versions can add kinds, so a `switch` over ``kind-swift.property`` needs a `default`.
public struct JournalError: Error, Sendable, CustomStringConvertible {
  /// The kind of a ``JournalError``.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind: `damaged`.
    public let description: String

    private init(_ name: String) { description = name }

    /// A value could not be encoded. The procedure fails, since its value would be lost.
    public static let valueNotEncodable = Kind("valueNotEncodable")
    /// An entry could not be decoded as the type that the procedure now has. Give the procedure another version.
    public static let valueNotDecodable = Kind("valueNotDecodable")
    /// An entry, or the storage, was changed by another program.
    public static let damaged = Kind("damaged")
    /// An entry existed when the run started, and no longer exists, or has a different value now.
    public static let entryMissing = Kind("entryMissing")
    /// The format of the storage belongs to another version of the library.
    public static let unknownVersion = Kind("unknownVersion")
    /// The storage is not a journal.
    public static let notAJournal = Kind("notAJournal")
    /// Another process, or another journal of this process, uses the storage.
    public static let inUse = Kind("inUse")
    /// The storage cannot be opened or read.
    public static let unreadable = Kind("unreadable")
    /// An entry could not be written, for example, because the disk is full. Earlier entries are readable.
    public static let unwritable = Kind("unwritable")
    /// The storage was renamed, removed or replaced while the journal was open.
    public static let moved = Kind("moved")
    /// The journal was closed.
    public static let closed = Kind("closed")
  }

  /// The kind.
  public let kind: Kind
  /// The name of the journal.
  public let journal: String
  /// The failure, the reason, and how it can be remedied.
  public let explanation: String
  /// The error behind this error.
  public let underlying: (any Error)?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - journal: The name of the journal.
  ///   - explanation: The failure, the reason, and the remedy, as the end of a sentence that begins with the journal.
  ///   - underlying: The error behind this error.
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

/// The failure of an earlier run, for a procedure that remembers failures, too.
///
/// The original error ended with its process; only its description is kept.
public struct RememberedFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path of the procedure or the node in the journal.
  public let path: String
  /// The description of the original error. The description of this error is the same.
  public let description: String

  /// Creates a failure, for tests.
  ///
  /// - Parameters:
  ///   - path: The path of the procedure or the node in the journal.
  ///   - description: The description of the original error.
  public init(path: String, description: String) {
    self.path = path
    self.description = description
  }
}
