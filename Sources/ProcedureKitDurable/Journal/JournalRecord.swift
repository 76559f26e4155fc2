internal import ProcedureKit
internal import ProcedureKitFoundation

/// The contents of an entry: a value or a failure, and the versions and dependencies from which the entry's fingerprint was computed. The
/// versions and dependencies are stored so that the library can explain why a node is executed again.
///
/// The values that the body requests by key are not known until the body is executed, so they are not part of the fingerprint. The
/// entry is up to date only if none of these values has changed.
struct JournalRecord: Equatable, Sendable {
  /// A value that another value depends on.
  struct Dependency: Equatable, Sendable {
    let name: String
    /// The first 8 bytes of the dependency's fingerprint.
    let prefix: UInt64

    static func == (one: Dependency, other: Dependency) -> Bool {
      one.prefix == other.prefix && one.name.hasBytes(of: other.name)
    }
  }

  /// A value that the body requested by key.
  struct Request: Equatable, Sendable {
    /// The name of the key type.
    let type: String
    /// The encoded key.
    let key: [UInt8]
    /// The fingerprint of the value.
    let fingerprint: Fingerprint
  }

  private static let format: UInt8 = 1
  /// The format of an entry with requests. Earlier versions of the library reject entries in this format instead of ignoring the requests.
  private static let formatWithRequests: UInt8 = 2

  var isFailure = false
  /// The version of the graph, followed by the version of the node. For a procedure outside a graph, there is only the procedure's version.
  var versions: [UInt32]
  var dependencies: [Dependency]
  /// How long the execution of a node took; `nil` if it was not measured.
  var duration: Duration?
  /// The requests, in the order in which the body made them.
  var requests: [Request] = []
  /// The encoded value, or the description of the error.
  var content: [UInt8]

  /// The description of the error; `nil` if the entry contains a value.
  var failure: String? { isFailure ? String(decoding: content, as: UTF8.self) : nil }

  var bytes: [UInt8] {
    let kind: UInt8 = (isFailure ? 1 : 0) | (duration == nil ? 0 : 2)
    var bytes = [requests.isEmpty ? Self.format : Self.formatWithRequests, kind]
    bytes.append(littleEndian: UInt32(versions.count))
    for version in versions { bytes.append(littleEndian: version) }
    bytes.append(littleEndian: UInt32(dependencies.count))
    for dependency in dependencies {
      bytes.append(littleEndian: UInt32(dependency.name.utf8.count))
      bytes += dependency.name.utf8
      bytes.append(littleEndian: dependency.prefix)
    }
    if !requests.isEmpty { bytes.append(littleEndian: UInt32(requests.count)) }
    for request in requests {
      for part in [Array(request.type.utf8), request.key] {
        bytes.append(littleEndian: UInt32(part.count))
        bytes += part
      }
      bytes += request.fingerprint.bytes
    }
    if let duration { bytes.append(littleEndian: duration.wholeNanoseconds) }
    return bytes + content
  }

  init(
    isFailure: Bool = false, versions: [UInt32], dependencies: [Dependency], requests: [Request] = [],
    duration: Duration? = nil, content: [UInt8]
  ) {
    self.isFailure = isFailure
    self.versions = versions
    self.dependencies = dependencies
    self.duration = duration
    self.requests = requests
    self.content = content
  }

  /// Reads an entry. Returns `nil` if the bytes are not an entry.
  init?(_ bytes: [UInt8]) {
    var rest = bytes[...]
    guard let format = rest.popFirst(), format == Self.format || format == Self.formatWithRequests,
      let kind = rest.popFirst(), kind < 4, let versionCount: UInt32 = rest.readNumber(),
      rest.count >= Int(versionCount) * 4
    else { return nil }
    isFailure = kind & 1 == 1
    versions = (0..<versionCount).compactMap { _ in rest.readNumber() }
    dependencies = []
    guard let count: UInt32 = rest.readNumber() else { return nil }
    for _ in 0..<count {
      guard let name = rest.readBytes(), let prefix: UInt64 = rest.readNumber() else { return nil }
      dependencies.append(Dependency(name: String(decoding: name, as: UTF8.self), prefix: prefix))
    }
    if format == Self.formatWithRequests {
      guard let count: UInt32 = rest.readNumber(), count > 0 else { return nil }
      for _ in 0..<count {
        guard let type = rest.readBytes(), let key = rest.readBytes(),
          let fingerprint = Fingerprint(bytes: rest.prefix(32))
        else { return nil }
        rest = rest.dropFirst(32)
        requests.append(
          Request(type: String(decoding: type, as: UTF8.self), key: Array(key), fingerprint: fingerprint))
      }
    }
    if kind & 2 == 2 {
      guard let nanoseconds: UInt64 = rest.readNumber() else { return nil }
      duration = .nanoseconds(Int64(clamping: nanoseconds))
    }
    content = Array(rest)
  }
}

extension Duration {
  /// The duration in whole nanoseconds, without the rounding errors of a `Double`. A negative duration is converted to zero.
  fileprivate var wholeNanoseconds: UInt64 {
    self < .zero ? 0 : UInt64(components.seconds) * 1_000_000_000 + UInt64(components.attoseconds / 1_000_000_000)
  }
}

extension ArraySlice<UInt8> {
  /// Removes and returns a number from the front. Returns `nil` if there are too few bytes.
  mutating func readNumber<Number: FixedWidthInteger>() -> Number? {
    let size = Number.bitWidth / 8
    guard count >= size else { return nil }
    defer { self = dropFirst(size) }
    return prefix(size).reversed().reduce(0) { $0 << 8 | Number($1) }
  }

  /// Reads a byte count, and removes and returns that many bytes. Returns `nil` if there are too few bytes.
  fileprivate mutating func readBytes() -> ArraySlice? {
    guard let length: UInt32 = readNumber(), count >= Int(length) else { return nil }
    defer { self = dropFirst(Int(length)) }
    return prefix(Int(length))
  }
}

extension ProcedureJournal {
  /// Returns the record for a key, or `nil` if there is none.
  func record(for key: JournalKey) async throws -> JournalRecord? {
    guard let bytes = try await read(key) else { return nil }
    guard let record = JournalRecord(bytes) else {
      throw JournalError(
        .damaged, journal: name,
        "has an entry for \(key) that was written by a later version of the library, or by another program")
    }
    return record
  }
}

/// A number that is stored in a journal while a procedure is in progress, so that the number outlives the process.
struct JournalNumber: Sendable {
  let journal: any ProcedureJournal
  let key: JournalKey

  /// Returns the number, or 0 if no number has been written. Throws an error if the entry is not a number in the given range.
  func read(in range: ClosedRange<Int64> = .min ... .max) async throws -> Int64 {
    guard let bytes = try await journal.read(key) else { return 0 }
    var rest = bytes[...]
    guard let number: Int64 = rest.readNumber(), rest.isEmpty else {
      throw JournalError(.damaged, journal: journal.name, "has an entry for \(key) that is not a number")
    }
    guard range.contains(number) else {
      throw JournalError(
        .damaged, journal: journal.name,
        "has an entry for \(key) with the number \(number), which the library never writes")
    }
    return number
  }

  func write(_ number: Int64) async throws {
    try await journal.appendShielded(number.littleEndianBytes, for: key)
  }
}
