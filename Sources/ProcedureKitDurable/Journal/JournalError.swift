public import Foundation
internal import ProcedureKit
internal import ProcedureKitFoundation

/// An error that occurs in a ``ProcedureJournal``, or when a value is encoded for a journal or decoded from it.
///
/// Later versions of the library may add kinds, so a `switch` over ``kind-swift.property`` needs a `default`.
public struct JournalError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// The kind of a ``JournalError``.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, for example `damaged`.
    public let description: String

    private init(_ name: String) { description = name }

    /// A value could not be encoded. The procedure fails, because its value would otherwise be lost.
    public static let valueNotEncodable = Kind("valueNotEncodable")
    /// An entry could not be decoded as the current type of the procedure's value. If the type has changed, give the procedure a new
    /// version.
    public static let valueNotDecodable = Kind("valueNotDecodable")
    /// An entry or the storage is damaged, or was changed by another program.
    public static let damaged = Kind("damaged")
    /// An entry that existed when the run started was removed, or now has a different value.
    public static let entryMissing = Kind("entryMissing")
    /// The storage was written in the format of another version of the library.
    public static let unknownVersion = Kind("unknownVersion")
    /// The storage is not a journal.
    public static let notAJournal = Kind("notAJournal")
    /// Another process, or another journal in this process, is using the storage.
    public static let inUse = Kind("inUse")
    /// The storage cannot be opened or read.
    public static let unreadable = Kind("unreadable")
    /// The storage could not be written, for example because the disk is full. Earlier entries remain readable, unless flushing them
    /// failed.
    public static let unwritable = Kind("unwritable")
    /// The storage was renamed, removed or replaced while the journal was open.
    public static let moved = Kind("moved")
    /// The journal was closed.
    public static let closed = Kind("closed")
  }

  /// The kind of error.
  public let kind: Kind
  /// The name of the journal.
  public let journal: String
  /// An explanation of what failed and why.
  public let explanation: String
  /// A sentence that says what can be done about the error, without a full stop; `nil` if there is no advice.
  public let advice: String?
  /// The error that caused this one, for example an error from the coder or from the system; `nil` if there is none.
  public let underlying: (any Error)?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - kind: The kind of error.
  ///   - journal: The name of the journal.
  ///   - explanation: An explanation of what failed and why. The text must continue a sentence that begins with the name of the journal.
  ///   - advice: A sentence that says what can be done about the error, without a full stop.
  ///   - underlying: The error that caused this one, if any.
  public init(
    _ kind: Kind, journal: String, _ explanation: String, advice: String? = nil, underlying: (any Error)? = nil
  ) {
    self.kind = kind
    self.journal = journal
    self.explanation = explanation
    self.advice = advice
    self.underlying = underlying
  }

  /// A description that consists of the journal's name, the explanation, the underlying error, and the advice.
  public var description: String {
    var text = "the journal \(journal) \(explanation)".inOneLine + (underlying.map { ": \("\($0)".inLines)" } ?? "")
    guard let advice = advice?.inOneLine else { return text }
    // The advice is a sentence, after the description of the underlying error, which may have several lines or end with a full stop.
    if text.contains("\n") { return "\(text)\n\(advice)" }
    if text.hasSuffix(".") { text.removeLast() }
    return "\(text). \(advice)"
  }

  /// The text of ``description`` as a sentence.
  public var errorDescription: String? { description.asSentence }
}

/// The error that is thrown when the journal contains the failure of an earlier run.
///
/// A journal stores only the description of the original error, so the error itself is no longer available.
public struct RememberedFailure: Error, Hashable, Sendable, CustomStringConvertible, LocalizedError {
  /// The path of the procedure or the node in the journal.
  public let path: String
  /// The description of the original error, which is also the description of this error.
  public let description: String

  /// Creates a failure, for use in tests.
  ///
  /// - Parameters:
  ///   - path: The path of the procedure or the node in the journal.
  ///   - description: The description of the original error.
  public init(path: String, description: String) {
    self.path = path
    self.description = description
  }

  /// The text of ``description`` as a sentence.
  public var errorDescription: String? { description.asSentence }
}
