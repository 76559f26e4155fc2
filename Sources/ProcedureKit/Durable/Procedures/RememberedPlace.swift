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
      $0.reuse = Level.Reuse(name: journal.name) { input in
        guard let record = try await journal.record(for: place.key(of: input as! Input).key) else { return nil }
        if let failure = record.failure {
          if place.remembersFailures { throw RememberedFailure(path: place.path, description: failure) }
          return nil
        }
        do {
          return Level.Reused(value: try decode(record.content, journal.coder))
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
        output = try await executeAsLevel(input)
      } catch {
        if place.remembersFailures, !error.isNoFailure, !ProcedureContext.ofBody(name).isCancelled {
          try await place.append(Array("\(error)".utf8), isFailure: true, for: input)
        }
        throw error
      }
      if ProcedureContext.ofBody(name).isCancelled { return output }
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
