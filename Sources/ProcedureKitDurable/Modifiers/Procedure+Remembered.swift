public import ProcedureKit
internal import ProcedureKitFoundation

extension Procedure where Input: Encodable, Output: Codable {
  /// Returns the procedure with a journal: its value is written when the procedure has finished, and later runs with an equal input
  /// take the value from the journal.
  ///
  /// ```swift
  /// let resize = ResizeImage(size: .small).timeout(.seconds(5)).remembered(in: journal, as: "small")
  /// ```
  ///
  /// A run that finds a value does not execute what is written before this modifier, and has the event `reused` with the name of
  /// the journal. A cancelled run is not remembered. Two runs that start at the same time with equal inputs are both executed;
  /// `coalesced(by:in:)` makes one of them.
  ///
  /// The body is executed at least once for each input: a body that was executing when the process was killed is executed again.
  ///
  /// - Parameters:
  ///   - journal: The journal. An append that fails, fails the procedure.
  ///   - key: The name in the journal. Two procedures in one journal need different names.
  ///   - version: The version of the procedure. Raise it when the body computes another value from the same input.
  ///   - rememberingFailures: Whether a failure is remembered, too: a later run fails with ``RememberedFailure``.
  /// - Returns: The procedure with the journal.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      RememberedPlace(journal, key, version, rememberingFailures) { try $1.encode($0) }, encode: { try $1.encode($0) },
      decode: { try $1.decode(Output.self, from: $0) })
  }
}

extension Procedure where Input == Void, Output: Codable {
  /// Returns a procedure without an input with a journal; see
  /// `remembered(in:as:version:rememberingFailures:)`.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      RememberedPlace(journal, key, version, rememberingFailures) { _, _ in [] }, encode: { try $1.encode($0) },
      decode: { try $1.decode(Output.self, from: $0) })
  }
}

extension Procedure where Input: Encodable, Output == Void {
  /// Returns a procedure without a value with a journal, which remembers that the procedure has finished; see
  /// `remembered(in:as:version:rememberingFailures:)`.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      RememberedPlace(journal, key, version, rememberingFailures) { try $1.encode($0) }, encode: { _, _ in [] },
      decode: { _, _ in })
  }
}

extension Procedure where Input == Void, Output == Void {
  /// Returns a procedure without an input and a value with a journal, which remembers that the procedure has finished; see
  /// `remembered(in:as:version:rememberingFailures:)`.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      RememberedPlace(journal, key, version, rememberingFailures) { _, _ in [] }, encode: { _, _ in [] },
      decode: { _, _ in })
  }
}

extension Procedure {
  /// Does not exist: a value that is not `Codable` cannot be remembered.
  @available(*, unavailable, message: "only a procedure with an Encodable input and a Codable value can be remembered")
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask
  }
}

/// Internal. The place of a procedure in a journal.
struct RememberedPlace<Input: Sendable>: Sendable {
  let journal: any ProcedureJournal
  let path: String
  let version: UInt32
  let remembersFailures: Bool
  private let encode: @Sendable (Input, any ProcedureCoder) throws -> [UInt8]

  init(
    _ journal: any ProcedureJournal, _ path: String, _ version: Int, _ remembersFailures: Bool,
    encode: @escaping @Sendable (Input, any ProcedureCoder) throws -> [UInt8]
  ) {
    (self.journal, self.path, self.remembersFailures) = (journal, path, remembersFailures)
    (self.version, self.encode) = (.version(version, of: path), encode)
  }

  /// Returns the key of an input, and the fingerprint of the input alone. The purpose of the entry is a value, or the state of a retry.
  func key(of input: Input, for purpose: String = "value") throws -> (key: JournalKey, input: Fingerprint) {
    let fingerprint: Fingerprint
    do {
      fingerprint = Fingerprint(of: try encode(input, journal.coder))
    } catch {
      throw JournalError(
        .valueNotEncodable, journal: journal.name, "cannot take the input of \(path)", underlying: error)
    }
    let parts = [Array(purpose.utf8), Array(path.utf8), version.littleEndianBytes, fingerprint.bytes]
    return (JournalKey(path: path, fingerprint: Fingerprint(parts: parts)), fingerprint)
  }

  func append(_ content: [UInt8], isFailure: Bool = false, for input: Input) async throws {
    let (key, fingerprint) = try key(of: input)
    let record = JournalRecord(
      isFailure: isFailure, versions: [version], dependencies: [.init(name: "the input", prefix: fingerprint.prefix)],
      content: content)
    try await journal.append(record.bytes, for: key)
  }
}

extension ProcedureTask {
  func remembered(
    _ place: RememberedPlace<Input>, encode: @escaping @Sendable (Output, any ProcedureCoder) throws -> [UInt8],
    decode: @escaping @Sendable ([UInt8], any ProcedureCoder) throws -> Output
  ) -> ProcedureTask {
    let journal = place.journal
    return wrapped {
      $0.reuse = ModifierLayer.Reuse(name: journal.name) { input in
        guard let record = try await journal.record(for: place.key(of: input as! Input).key) else { return nil }
        if let failure = record.failure {
          if place.remembersFailures { throw RememberedFailure(path: place.path, description: failure) }
          return nil
        }
        do {
          return ModifierLayer.Reused(value: try decode(record.content, journal.coder))
        } catch {
          throw JournalError(
            .valueNotDecodable, journal: journal.name,
            "has a value of \(place.path) that cannot be decoded as \(Output.self): raise the version if the type has changed",
            underlying: error)
        }
      }
    } _: { input in
      let output: Output
      do {
        output = try await executeAsLayer(input)
      } catch {
        if place.remembersFailures, !error.isNoFailure, !ProcedureContext.requireCurrent(for: name).isCancelled {
          try await place.append(Array("\(error)".utf8), isFailure: true, for: input)
        }
        throw error
      }
      if ProcedureContext.requireCurrent(for: name).isCancelled { return output }
      let content: [UInt8]
      do {
        content = try encode(output, journal.coder)
      } catch {
        throw JournalError(
          .valueNotEncodable, journal: journal.name, "cannot take the value of \(place.path)", underlying: error)
      }
      try await place.append(content, for: input)
      return output
    }
  }
}

extension Procedure {
  /// Returns the procedure with a version, for the nodes of a durable graph: a node with another version than before is executed
  /// again, and so is everything that depends on the node.
  ///
  /// Raise the version when the body computes another value from the same input. The default is 1. A later modifier keeps the
  /// version.
  ///
  /// - Parameter version: The version. Less than 0 traps.
  /// - Returns: The procedure with the version.
  public func version(_ version: Int) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.relabelled { $0.version = .version(version, of: task.name) }
  }
}

extension UInt32 {
  /// Returns an author's version. Traps if the version is too small or too large.
  static func version(_ version: Int, of name: String) -> UInt32 {
    require(
      0...Int(UInt32.max) ~= version,
      "The version of \"\(name)\" must be between 0 and \(UInt32.max), got \(version)")
    return UInt32(version)
  }
}
