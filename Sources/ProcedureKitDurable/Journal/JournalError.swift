/// An error of a ``ProcedureJournal``, or of a value that cannot go into one or come out of one.
///
/// Later versions can add kinds, so a `switch` over ``kind-swift.property`` has a `default`.
public struct JournalError: Error, Sendable, CustomStringConvertible {
  /// The kind of a ``JournalError``.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind: `damaged`.
    public let description: String

    private init(_ name: String) { description = name }

    /// A value could not be encoded. The procedure fails, since its value would be lost.
    public static let valueNotEncodable = Kind("valueNotEncodable")
    /// An entry could not be decoded as the type that is expected now. Give the procedure another version.
    public static let valueNotDecodable = Kind("valueNotDecodable")
    /// An entry, or the storage, was changed by something other than the journal.
    public static let damaged = Kind("damaged")
    /// An entry was there when the run started, and is not there any more, or has another value now.
    public static let entryMissing = Kind("entryMissing")
    /// The storage has a format of another version of the library.
    public static let unknownVersion = Kind("unknownVersion")
    /// The storage is no journal.
    public static let notAJournal = Kind("notAJournal")
    /// Another process, or another journal of this process, uses the storage.
    public static let inUse = Kind("inUse")
    /// The storage cannot be opened or read.
    public static let unreadable = Kind("unreadable")
    /// An entry could not be written: the disk is full, for example. Earlier entries are readable.
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
  /// What happened, why, and what to do.
  public let explanation: String
  /// The error behind this error.
  public let underlying: (any Error)?

  /// Makes an error.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - journal: The name of the journal.
  ///   - explanation: What happened, why, and what to do, as the end of a sentence that begins with the journal.
  ///   - underlying: The error behind this error.
  public init(_ kind: Kind, journal: String, _ explanation: String, underlying: (any Error)? = nil) {
    self.kind = kind
    self.journal = journal
    self.explanation = explanation
    self.underlying = underlying
  }

  /// The journal, the explanation and the underlying error.
  public var description: String {
    "the journal \(journal) \(explanation)" + (underlying.map { ": \($0)" } ?? "")
  }
}

/// The failure of an earlier run, for a procedure that remembers failures, too.
///
/// The original error ended with its process; its description is left.
public struct RememberedFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path of the procedure or the node in the journal.
  public let path: String
  /// The description of the original error. The description of this error is the same.
  public let description: String

  /// Makes a failure, for tests.
  ///
  /// - Parameters:
  ///   - path: The path of the procedure or the node in the journal.
  ///   - description: The description of the original error.
  public init(path: String, description: String) {
    self.path = path
    self.description = description
  }
}
