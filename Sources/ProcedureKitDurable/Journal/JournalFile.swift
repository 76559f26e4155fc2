internal import Foundation
internal import ProcedureKit

/// The file of a journal, with the position of each entry. It must not be used by more than one task at a time.
final class JournalFile {
  /// The positions of an entry and of its value in the file.
  struct Place {
    /// The position where the entry starts.
    let entry: Int
    /// The position where the value starts.
    let position: Int
    let size: Int

    var end: Int { position + size }
  }

  /// The number of bytes that are read at a time to compute the checksum of an entry.
  private static let pieceSize = 1 << 16

  /// The path as it appears in error messages.
  private let path: String
  /// The absolute path without symbolic links. Compaction uses this path to replace the file itself, even if the process has changed its
  /// working directory since it opened the file. The path is stored as bytes, because names of folders do not have to be valid UTF-8.
  private let realPath: SystemText
  private var file: FileDescriptor
  /// The end of the last complete entry, where the next entry is written.
  private(set) var end = JournalFormat.headerSize
  private(set) var places: [JournalKey: Place] = [:]
  private(set) var latest: [ByteText: JournalKey] = [:]
  /// A description of the bytes that were cut off when the file was opened.
  private(set) var recovery: FileJournal.Recovery?
  /// The error that caused the journal to stop writing entries. Earlier data may not have reached the storage device, or the file may end
  /// with an incomplete entry.
  private var failure: FileDescriptor.Failure?

  /// Opens or creates a file, locks it, and finds all its entries.
  init(_ path: SystemText, onDamage: FileJournal.DamagePolicy) throws(JournalError) {
    self.path = path.description
    file = try Self.opened(path)
    realPath = Self.withoutLinks(path)
    do throws(FileDescriptor.Failure) {
      let size = try file.size()
      if try isUnwritten(size) {
        try file.truncate(to: 0)
        try file.write(JournalFormat.header(), at: 0)
        try file.flush()
        try Self.flushFolder(of: realPath)
        return
      }
    } catch {
      throw Self.error(.unwritable, path.description, "could not be created", error)
    }
    try checkHeader()
    if let damage = try scan() {
      guard damage.isTorn || onDamage == .cutOff else { throw damage.error(of: self.path) }
      try cutOff(damage)
    }
  }

  static func error(
    _ kind: JournalError.Kind, _ path: String, _ explanation: String, advice: String? = nil,
    _ underlying: FileDescriptor.Failure? = nil
  ) -> JournalError {
    JournalError(kind, journal: path, explanation, advice: advice, underlying: underlying)
  }

  // MARK: Opening

  private static func opened(_ path: SystemText) throws(JournalError) -> FileDescriptor {
    let name = path.description
    guard !path.containsZero else {
      throw Self.error(.unreadable, name, "could not be opened because its path contains a NUL character")
    }
    while true {
      do throws(FileDescriptor.Failure) {
        let file = try FileDescriptor(opening: path, O_RDWR | O_CREAT)
        guard file.isRegular else { throw FileDescriptor.Failure(code: EINVAL) }
        guard try file.lock() else {
          throw FileDescriptor.Failure(code: EWOULDBLOCK)
        }
        // Between opening and locking, another process may have compacted the journal and ended. The lock is then on the old file, so the
        // loop opens the new one.
        if file.isFile(at: path) { return file }
      } catch {
        if error.code == EWOULDBLOCK {
          throw Self.error(
            .inUse, name,
            "is in use by another process, or by another journal in this process",
            advice: "Give each journal its own file")
        }
        if error.code == ENOENT {
          throw Self.error(
            .unreadable, name, "could not be created because its folder does not exist",
            advice: "Create the folder first",
            error)
        }
        throw Self.error(.unreadable, name, "could not be opened for reading and writing as a regular file", error)
      }
    }
  }

  private static func withoutLinks(_ path: SystemText) -> SystemText {
    guard let real = path.withCString({ realpath($0, nil) }) else { return path }
    defer { free(real) }
    return SystemText(cString: real)
  }

  /// Returns whether the header is missing. It is missing if the file is new, or if the process that created the file ended before writing
  /// the header.
  private func isUnwritten(_ size: Int) throws(FileDescriptor.Failure) -> Bool {
    let start = try file.read(min(size, JournalFormat.headerSize), at: 0)
    return size < JournalFormat.headerSize && JournalFormat.header().starts(with: start)
      || size <= JournalFormat.headerSize && start.allSatisfy { $0 == 0 }
  }

  private func checkHeader() throws(JournalError) {
    let header = try read(JournalFormat.headerSize, at: 0)
    guard header.count == JournalFormat.headerSize, header.starts(with: JournalFormat.magic) else {
      throw Self.error(
        .notAJournal, path,
        "is not a journal (unknown header). The file was not changed", advice: "Specify a different file")
    }
    guard JournalFormat.number(header[12...]) == CRC32.checksum(of: header[..<12]) else {
      throw Self.error(
        .damaged, path,
        "has a damaged header", advice: "Restore the file, or start a new one")
    }
    let version = JournalFormat.number(header[8..<12])
    guard version == JournalFormat.version else {
      throw Self.error(
        .unknownVersion, path,
        "has format \(version), but this version of the library supports only format \(JournalFormat.version)",
        advice: "Open the journal with the version that wrote it, or start a new file")
    }
  }

  // MARK: Reading

  private struct Damage {
    let position: Int
    let size: Int
    /// Whether the damage is an incomplete last entry, which a process leaves if it is killed while writing.
    let isTorn: Bool

    /// A description of the damage and of the bytes that were dropped because of it.
    var report: String {
      isTorn
        ? "ended with an incomplete entry; its \(size.counting("byte was", "bytes were")) dropped"
        : "was damaged at byte \(position); everything from there on (\(size.counting("byte"))) was dropped"
    }

    /// Returns the error for damage that is not cut off.
    func error(of path: String) -> JournalError {
      JournalFile.error(
        .damaged, path, "is damaged at byte \(position)",
        advice:
          "Open the file with `onDamage: .cutOff` to keep only the entries before the damage; the rest are dropped")
    }
  }

  /// Finds all entries before the first damaged part, and returns a description of the damage, or `nil` if the file is not damaged.
  private func scan() throws(JournalError) -> Damage? {
    let size = try wrapped { () throws(FileDescriptor.Failure) in try file.size() }
    while end < size {
      let rest = size - end
      let header = try read(min(rest, JournalFormat.entryHeaderSize), at: end)
      guard header.count == JournalFormat.entryHeaderSize else {
        return Damage(position: end, size: rest, isTorn: true)
      }
      guard let (length, checksum) = JournalFormat.entryHeader(header) else {
        // After a power failure, a file can end with zeros, because its size was stored before its contents.
        return Damage(position: end, size: rest, isTorn: try isZero(from: end, to: size))
      }
      let start = end + JournalFormat.entryHeaderSize
      guard length <= size - start else { return Damage(position: end, size: rest, isTorn: true) }
      guard let key = try key(at: start, length: length, checksum: checksum) else {
        return Damage(position: end, size: rest, isTorn: false)
      }
      note(key, at: end, end: start + length)
    }
    return nil
  }

  /// Reads the key in a payload. Returns `nil` if the length of the key or the checksum is wrong, or if the path is not
  /// valid UTF-8.
  private func key(at start: Int, length: Int, checksum: UInt32) throws(JournalError) -> JournalKey? {
    let first = try read(min(length, Self.pieceSize), at: start)
    guard let keySize = JournalFormat.keySize(Array(first.prefix(4)), payloadLength: length) else { return nil }
    var computed = CRC32.Checksum()
    computed.add(first)
    for position in stride(from: start + first.count, to: start + length, by: Self.pieceSize) {
      computed.add(try read(min(Self.pieceSize, start + length - position), at: position))
    }
    guard computed.value == checksum else { return nil }
    let bytes = keySize <= first.count ? Array(first.prefix(keySize)) : try read(keySize, at: start)
    return bytes.count == keySize ? JournalFormat.key(bytes) : nil
  }

  private func isZero(from start: Int, to end: Int) throws(JournalError) -> Bool {
    for position in stride(from: start, to: end, by: Self.pieceSize) {
      if try read(min(Self.pieceSize, end - position), at: position).contains(where: { $0 != 0 }) { return false }
    }
    return true
  }

  /// Records the position of an entry. The next entry will be written after it.
  private func note(_ key: JournalKey, at start: Int, end: Int) {
    let position = start + JournalFormat.entryHeaderSize + 36 + key.path.utf8.count
    places[key] = Place(entry: start, position: position, size: end - position)
    latest[ByteText(key.path)] = key
    self.end = end
  }

  private func cutOff(_ damage: Damage) throws(JournalError) {
    do {
      try file.truncate(to: damage.position)
      try file.flush()
    } catch {
      throw Self.error(
        .unwritable, path, "is damaged at byte \(damage.position), and the damaged part could not be removed", error)
    }
    recovery = FileJournal.Recovery(
      droppedByteCount: damage.size, isTornEntry: damage.isTorn,
      description: "the journal \"\(path)\" " + damage.report)
  }

  private func read(_ count: Int, at position: Int) throws(JournalError) -> [UInt8] {
    try wrapped { () throws(FileDescriptor.Failure) in try file.read(count, at: position) }
  }

  private func wrapped<R>(_ body: () throws(FileDescriptor.Failure) -> R) throws(JournalError) -> R {
    do {
      return try body()
    } catch {
      throw Self.error(.unreadable, path, "could not be read", error)
    }
  }

  /// Returns the value for a key, after checking that the whole entry is intact.
  func value(for key: JournalKey) throws(JournalError) -> [UInt8]? {
    guard let place = places[key] else { return nil }
    let bytes = try read(place.end - place.entry, at: place.entry)
    guard Self.isEntry(bytes, of: key, place) else { throw changed(key) }
    return Array(bytes[(place.position - place.entry)...])
  }

  /// Returns whether the bytes are a complete and intact entry for a key.
  private static func isEntry(_ bytes: [UInt8], of key: JournalKey, _ place: Place) -> Bool {
    let start = JournalFormat.entryHeaderSize
    guard bytes.count == place.end - place.entry,
      let (length, checksum) = JournalFormat.entryHeader(Array(bytes[..<start]))
    else { return false }
    return length == bytes.count - start && CRC32.checksum(of: bytes[start...]) == checksum
      && JournalFormat.key(Array(bytes[start..<place.position - place.entry])) == key
  }

  private func changed(_ key: JournalKey) -> JournalError {
    Self.error(
      .damaged, path, "has a damaged entry for \(key): the bytes of the entry were changed after it was written")
  }

  // MARK: Writing

  func append(_ value: [UInt8], for key: JournalKey) throws(JournalError) {
    try requireIntact()
    try requireInPlace()
    guard let entry = JournalFormat.entry(value, for: key) else {
      throw Self.error(.unwritable, path, "cannot store an entry of 4 GiB or more, or a path longer than 16 MiB")
    }
    do {
      try file.write(entry, at: end)
    } catch {
      // No entry may follow an incomplete entry, so the incomplete entry is removed. If that fails, nothing more is written, and the
      // incomplete entry is dropped the next time the file is opened.
      do { try file.truncate(to: end) } catch { failure = error }
      throw Self.error(
        .unwritable, path, "could not store the entry for \(key); all earlier entries are readable", error)
    }
    note(key, at: end, end: end + entry.count)
  }

  /// Throws an error if the path no longer refers to the file. Entries that are written to a removed file are lost when the process ends.
  private func requireInPlace() throws(JournalError) {
    guard !file.isFile(at: realPath) else { return }
    throw Self.error(
      .moved, path,
      "was renamed, removed or replaced after it was opened, and accepts no more entries",
      advice: "Close and reopen the journal")
  }

  private func requireIntact() throws(JournalError) {
    guard let failure else { return }
    throw Self.error(
      .unwritable, path, "accepts no more entries until it is reopened, because of an earlier storage failure", failure)
  }

  func flush() throws(JournalError) {
    try requireIntact()
    do {
      try file.flush()
    } catch {
      // The system may have dropped unwritten data, and another flush may not report the error again.
      failure = error
      throw Self.error(
        .unwritable, path, "may have lost its latest entries because the storage failed",
        advice: "Open the journal again", error)
    }
  }

  /// Writes a new file with the latest entry for each key that `isKept` accepts, and replaces the old file with the new one. If the new
  /// file cannot be written, the old file stays in use.
  func compact(_ isKept: (JournalKey) -> Bool) throws(JournalError) {
    try requireInPlace()
    let temporary: SystemText = "\(realPath).compacting"
    let (old, oldEnd, oldPlaces, oldLatest) = (file, end, places, latest)
    var damaged: JournalKey?
    do throws(FileDescriptor.Failure) {
      let new = try FileDescriptor(replacing: temporary)
      guard try new.lock() else { throw FileDescriptor.Failure(code: EWOULDBLOCK) }
      try new.takePermissions(of: old)
      try new.write(JournalFormat.header(), at: 0)
      (end, places, latest) = (JournalFormat.headerSize, [:], [:])
      for (key, place) in oldPlaces.sorted(by: { $0.value.position < $1.value.position }) where isKept(key) {
        let entry = try old.read(place.end - place.entry, at: place.entry)
        guard Self.isEntry(entry, of: key, place) else {
          damaged = key
          throw FileDescriptor.Failure(code: EIO)
        }
        try new.write(entry, at: end)
        note(key, at: end, end: end + entry.count)
      }
      try new.flush()
      guard temporary.withCString({ old in realPath.withCString { rename(old, $0) } }) == 0 else { throw .latest }
      file = new
    } catch {
      _ = temporary.withCString { unlink($0) }
      (end, places, latest) = (oldEnd, oldPlaces, oldLatest)
      // Copying a damaged entry to the new file would make all entries after it unreadable.
      if let damaged { throw changed(damaged) }
      throw Self.error(.unwritable, path, "could not be compacted, and was not changed", error)
    }
    do {
      try Self.flushFolder(of: realPath)
    } catch {
      // After a power failure, the path may refer to the old file again, without the entries appended after the compaction. Therefore, no
      // more entries are accepted.
      failure = error
      throw Self.error(
        .unwritable, path, "was compacted, but its folder could not be flushed", advice: "Open the journal again", error
      )
    }
  }

  /// Flushes the folder that contains the file at a path, so that a new or renamed file still exists after a power failure.
  private static func flushFolder(of path: SystemText) throws(FileDescriptor.Failure) {
    do {
      try FileDescriptor(opening: path.parentFolder ?? ".", O_RDONLY).flush()
    } catch {
      // This error is returned by file systems on which folders cannot be flushed, and need not be.
      if error.code != EINVAL { throw error }
    }
  }
}
