public import ProcedureKit
internal import ProcedureKitFoundation

extension Procedure where Input: Encodable, Output: Codable {
  /// Returns a procedure that stores its value in a journal, so that later runs with an equal input can use the value.
  ///
  /// ```swift
  /// let resize = ResizeImage(size: .small).timeout(.seconds(5)).remembered(in: journal, as: "small")
  /// ```
  ///
  /// A run that finds a value in the journal publishes a `reused` event with the name of the journal. It executes neither the body nor the
  /// modifiers that are written before this one. Nothing is stored for a cancelled run. Two concurrent runs with equal inputs are both
  /// executed; to combine such runs into one, use `coalesced(by:in:)`.
  ///
  /// The body is executed at least once for each input: if a body was executing when the process was killed, it is executed again.
  ///
  /// - Parameters:
  ///   - journal: The journal that stores the values. If an entry cannot be appended, the procedure fails.
  ///   - key: The name of the procedure in the journal. Two procedures that share a journal need different names.
  ///   - version: The version of the procedure. Increase it when the body changes and computes a different value from the same input.
  ///   - rememberingFailures: Whether failures are stored as well. If they are, a later run fails with ``RememberedFailure``. Errors that
  ///     mean that the body was not executed, such as `ProcedureError.Kind.rateExceeded`, are not stored.
  /// - Returns: A procedure that uses the journal.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      JournalEntryLocation(journal, key, version, rememberingFailures) { try $1.encode($0) },
      encode: { try $1.encode($0) }, decode: { try $1.decode(Output.self, from: $0) })
  }
}

extension Procedure where Input == Void, Output: Codable {
  /// Returns a procedure that has no input and stores its value in a journal; see `remembered(in:as:version:rememberingFailures:)`.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      JournalEntryLocation(journal, key, version, rememberingFailures) { _, _ in [] }, encode: { try $1.encode($0) },
      decode: { try $1.decode(Output.self, from: $0) })
  }
}

extension Procedure where Input: Encodable, Output == Void {
  /// Returns a procedure that has no value and records in a journal that it has finished; see
  /// `remembered(in:as:version:rememberingFailures:)`.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      JournalEntryLocation(journal, key, version, rememberingFailures) { try $1.encode($0) }, encode: { _, _ in [] },
      decode: { _, _ in })
  }
}

extension Procedure where Input == Void, Output == Void {
  /// Returns a procedure that has neither an input nor a value, and records in a journal that it has finished.
  ///
  /// See `remembered(in:as:version:rememberingFailures:)`.
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask.remembered(
      JournalEntryLocation(journal, key, version, rememberingFailures) { _, _ in [] }, encode: { _, _ in [] },
      decode: { _, _ in })
  }
}

extension Procedure {
  /// This overload is unavailable, because a journal can remember a procedure only if its input is `Encodable` or `Void`, and its value
  /// is `Codable` or `Void`.
  @available(
    *, unavailable,
    message: "a procedure can be remembered only if its input is Encodable or Void, and its value is Codable or Void"
  )
  public func remembered(
    in journal: any ProcedureJournal, as key: String, version: Int = 1, rememberingFailures: Bool = false
  ) -> ProcedureTask<Input, Output> {
    procedureTask
  }
}

/// The location of a procedure's entries in a journal.
struct JournalEntryLocation<Input: Sendable>: Sendable {
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

  /// Returns the key for an input, and the fingerprint of the input alone. The purpose is part of the key, because a procedure's value, its
  /// count of attempts, and its start time need different keys.
  func key(of input: Input, for purpose: String = "value") throws -> (key: JournalKey, input: Fingerprint) {
    let fingerprint: Fingerprint
    do {
      fingerprint = Fingerprint(of: try encode(input, journal.coder))
    } catch {
      throw JournalError(
        .valueNotEncodable, journal: journal.name, "could not encode the input of \(path)", underlying: error)
    }
    let ofKey = Fingerprint { parts in
      parts.add(purpose)
      parts.add(path)
      parts.add(version)
      parts.add(fingerprint)
    }
    return (JournalKey(path: path, fingerprint: ofKey), fingerprint)
  }

  func append(_ content: [UInt8], isFailure: Bool = false, for input: Input) async throws {
    let (key, fingerprint) = try key(of: input)
    let record = JournalRecord(
      isFailure: isFailure, versions: [version], dependencies: [.init(name: "the input", prefix: fingerprint.prefix)],
      content: content)
    try await journal.appendShielded(record.bytes, for: key)
  }
}

extension ProcedureTask {
  func remembered(
    _ place: JournalEntryLocation<Input>, encode: @escaping @Sendable (Output, any ProcedureCoder) throws -> [UInt8],
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
            "has a value for \(place.path) that could not be decoded as \(Output.self)",
            advice: "Increase the version if the type has changed",
            underlying: error)
        }
      }
    } _: { input in
      let output: Output
      do {
        output = try await executeAsLayer(input)
      } catch {
        if place.remembersFailures, error.isFailureOfWork {
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
          .valueNotEncodable, journal: journal.name, "could not encode the value of \(place.path)", underlying: error)
      }
      try await place.append(content, for: input)
      return output
    }
  }
}

extension Procedure {
  /// Returns the procedure with a version, for use in a durable graph.
  ///
  /// If the version of a node has changed since its value was stored, the node and all nodes that depend on it are executed again.
  ///
  /// Increase the version when the body changes and computes a different value from the same input. The default version is 1. Modifiers
  /// that are written after this one keep the version.
  ///
  /// - Parameter version: The version. Passing a negative version traps.
  /// - Returns: The procedure with the version.
  public func version(_ version: Int) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.relabelled { $0.version = .version(version, of: task.name) }
  }
}

extension UInt32 {
  /// Converts a version that the caller passed. Traps if the version is too small or too large.
  static func version(_ version: Int, of name: String) -> UInt32 {
    require(
      0...Int(UInt32.max) ~= version,
      "The version of \"\(name)\" must be between 0 and \(UInt32.max), got \(version)")
    return UInt32(version)
  }
}

extension Error {
  /// Whether the error says that the work of the current procedure failed, so that a journal can store it. The work of a procedure that was
  /// cancelled or ignored, or that a modifier such as a rate limiter refused, has not been attempted.
  var isFailureOfWork: Bool {
    guard let context = ProcedureContext.current, !context.isCancelled else { return false }
    return isFailedCall(of: context.id)
  }
}
