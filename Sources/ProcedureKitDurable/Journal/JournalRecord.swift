internal import ProcedureKit
internal import ProcedureKitFoundation

/// The contents of an entry: a value or a failure, and the versions and dependencies from which the entry's fingerprint was computed. The
/// versions and dependencies are stored so that the library can explain why a node is executed again.
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

  private static let format: UInt8 = 1

  var isFailure = false
  /// The version of the graph, followed by the version of the node. For a procedure outside a graph, there is only the procedure's version.
  var versions: [UInt32]
  var dependencies: [Dependency]
  /// The encoded value, or the description of the error.
  var content: [UInt8]

  /// The description of the error; `nil` if the entry is not a failure.
  var failure: String? { isFailure ? String(decoding: content, as: UTF8.self) : nil }

  var bytes: [UInt8] {
    var bytes = [Self.format, isFailure ? 1 : 0]
    bytes.append(littleEndian: UInt32(versions.count))
    for version in versions { bytes.append(littleEndian: version) }
    bytes.append(littleEndian: UInt32(dependencies.count))
    for dependency in dependencies {
      bytes.append(littleEndian: UInt32(dependency.name.utf8.count))
      bytes += dependency.name.utf8
      bytes.append(littleEndian: dependency.prefix)
    }
    return bytes + content
  }

  init(isFailure: Bool = false, versions: [UInt32], dependencies: [Dependency], content: [UInt8]) {
    self.isFailure = isFailure
    self.versions = versions
    self.dependencies = dependencies
    self.content = content
  }

  /// Reads an entry. Returns `nil` if the bytes are not an entry.
  init?(_ bytes: [UInt8]) {
    var rest = bytes[...]
    guard rest.popFirst() == Self.format, let kind = rest.popFirst(), kind < 2,
      let versionCount: UInt32 = rest.readNumber(), rest.count >= Int(versionCount) * 4
    else { return nil }
    isFailure = kind == 1
    versions = (0..<versionCount).compactMap { _ in rest.readNumber() }
    dependencies = []
    guard let count: UInt32 = rest.readNumber() else { return nil }
    for _ in 0..<count {
      guard let length: UInt32 = rest.readNumber(), rest.count >= Int(length) else { return nil }
      let name = String(decoding: rest.prefix(Int(length)), as: UTF8.self)
      rest = rest.dropFirst(Int(length))
      guard let prefix: UInt64 = rest.readNumber() else { return nil }
      dependencies.append(Dependency(name: name, prefix: prefix))
    }
    content = Array(rest)
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

/// A number that is stored in a journal while a procedure is in progress, and that outlives the process.
struct JournalNumber: Sendable {
  let journal: any ProcedureJournal
  let key: JournalKey

  /// Returns the number, or 0 if no number has been written. Throws an error for a number that the library never writes.
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
