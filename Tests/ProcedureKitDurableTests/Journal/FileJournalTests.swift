import Foundation
import ProcedureKit
import ProcedureKitDurable
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct FileJournalTests {
  private let folder: TemporaryFolder
  private let path: String
  private let quiet = ProcedureLog(to: LogCollector())

  init() throws {
    folder = try TemporaryFolder()
    path = folder.file("a.journal")
  }

  private static func key(_ name: String, _ number: UInt8 = 0) -> JournalKey {
    JournalKey(path: name, fingerprint: Fingerprint(of: [number]))
  }

  private static let keys = ["a", "", "bé"].map { key($0) }
  private static let values: [[UInt8]] = [[1, 2, 3], [], Array(repeating: 0, count: 40)]

  /// Writes three entries, and returns the bytes of the file and the end of each entry.
  private func written() async throws -> (bytes: [UInt8], ends: [Int]) {
    let journal = try FileJournal(path)
    var ends: [Int] = []
    for (key, value) in zip(Self.keys, Self.values) {
      try await journal.append(value, for: key)
      ends.append(await journal.byteCount)
    }
    try await journal.close()
    return (try folder.bytes(of: "a.journal"), ends)
  }

  /// Opens a file with the given bytes, and reads all entries.
  private func entries(
    in bytes: [UInt8], onDamage: FileJournal.DamagePolicy = .fail
  ) async throws -> (values: [[UInt8]?], recovery: FileJournal.Recovery?) {
    try folder.write(bytes, to: "copy")
    let journal = try FileJournal(folder.file("copy"), flush: .never, onDamage: onDamage, log: quiet)
    var values: [[UInt8]?] = []
    for key in Self.keys { values.append(try await journal.read(key)) }
    try await journal.close()
    return (values, journal.recovery)
  }

  @Test("Entries can be read after the file has been closed, and the latest entry of a key counts")
  func reopening() async throws {
    _ = try await written()
    let journal = try FileJournal(path)
    try await journal.append([9], for: Self.keys[0])
    try await journal.append([8], for: Self.key("a", 1))
    try await journal.close()
    let again = try FileJournal(path)
    #expect(try await again.read(Self.keys[0]) == [9])
    #expect(try await again.read(Self.keys[1]) == [])
    #expect(try await again.read(Self.key("a", 1)) == [8])
    #expect(try await again.read(Self.key("a", 2)) == nil)
    #expect(try await again.latestKey(at: "a") == Self.key("a", 1))
    #expect(try await again.latestKey(at: "none") == nil)
    #expect(await again.entryCount == 4)
    #expect(again.recovery == nil)
  }

  @Test("A file that is cut at any byte has all complete entries, and the rest is dropped and reported")
  func cut() async throws {
    let (bytes, ends) = try await written()
    for count in 0...bytes.count {
      let (values, recovery) = try await entries(in: Array(bytes[..<count]))
      let whole = ends.count { $0 <= count }
      #expect(values == Self.values.enumerated().map { $0.offset < whole ? $0.element : nil }, "\(count)")
      let dropped = count - max(16, ends.last { $0 <= count } ?? 16)
      #expect(recovery?.droppedByteCount == (dropped > 0 ? dropped : nil), "\(count)")
      #expect(recovery?.isTornEntry != false)
    }
  }

  @Test("A changed byte is an error, and never another value; if the file is cut off there, the earlier entries remain")
  func flipped() async throws {
    let (bytes, ends) = try await written()
    for position in bytes.indices {
      var damaged = bytes
      damaged[position] ^= 1 << UInt8(position % 8)
      let error = await #expect(throws: JournalError.self, "\(position)") { try await entries(in: damaged) }
      guard position >= 16 else { continue }
      #expect("\(error as Any)".contains("`onDamage: .cutOff`"), "\(position)")
      let (values, recovery) = try await entries(in: damaged, onDamage: .cutOff)
      let whole = ends.count { $0 <= position }
      #expect(values == Self.values.enumerated().map { $0.offset < whole ? $0.element : nil }, "\(position)")
      #expect(recovery?.isTornEntry == false)
      let description = try #require(recovery?.description)
      #expect(description.contains("was damaged at byte") && description.contains("was dropped"), "\(description)")
      #expect(!description.contains("onDamage"), "\(description)")
    }
  }

  @Test("A byte that is changed while the journal is open is an error, too")
  func flippedWhileOpen() async throws {
    _ = try await written()
    let journal = try FileJournal(path)
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: 16 + 12 + 4 + 1 + 32)
    try file.write(contentsOf: [77])
    try file.close()
    let error = await #expect(throws: JournalError.self) { try await journal.read(Self.keys[0]) }
    #expect(error?.kind == .damaged)
    #expect(try await journal.read(Self.keys[2]) == Self.values[2])
  }

  @Test("Zeros after the last entry, as after a power failure, are dropped; zeros before an entry are damage")
  func zeros() async throws {
    let bytes = try await written().bytes
    let zeros = [UInt8](repeating: 0, count: 70_000)
    let (values, recovery) = try await entries(in: bytes + zeros)
    #expect(values == Self.values && recovery?.droppedByteCount == 70_000)
    await #expect(throws: JournalError.self) { try await entries(in: bytes + zeros + [1]) }
    #expect(try await entries(in: [UInt8](repeating: 0, count: 16)).values == [nil, nil, nil])
  }

  @Test("A dropped entry is logged, and an entry that is written afterwards can be read")
  func torn() async throws {
    let bytes = try await written().bytes
    try folder.write(Array(bytes.dropLast()), to: "a.journal")
    let collector = LogCollector()
    let journal = try FileJournal(path, log: ProcedureLog(to: collector))
    #expect(collector.texts(.warning).count == 1)
    #expect(collector.texts(.warning).first?.contains("ended with an incomplete entry") == true)
    try await journal.append([5], for: Self.keys[2])
    try await journal.close()
    #expect(try await FileJournal(path).read(Self.keys[2]) == [5])
  }

  @Test("Two journals cannot use one file at the same time, and a closed or released journal releases the file")
  func lock() async throws {
    var journal: FileJournal? = try FileJournal(path)
    let error = #expect(throws: JournalError.self) { try FileJournal(path) }
    #expect(error?.kind == .inUse)
    try await journal?.append([1], for: Self.keys[0])
    try await journal?.compact()
    #expect(throws: JournalError.self) { try FileJournal(path) }
    journal = nil
    let next = try FileJournal(path)
    #expect(try await next.read(Self.keys[0]) == [1])
    try await next.close()
    await #expect(throws: JournalError.self) { try await next.read(Self.keys[0]) }
    await #expect(throws: JournalError.self) { try await next.append([], for: Self.keys[0]) }
    _ = try FileJournal(path)
  }

  #if os(Linux)
    @Test("A closed journal releases the file, even if a child that is being spawned still has the descriptor")
    func inherited() async throws {
      let journal = try FileJournal(path)
      // Between its `fork` and its `exec`, a child has copies of all descriptors.
      let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { number in
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) == path
      }
      let copies = numbers.compactMap(Int32.init).map { dup($0) }
      defer { for copy in copies { close(copy) } }
      #expect(copies.count == 1)
      try await journal.close()
      _ = try FileJournal(path)
    }
  #endif

  @Test("A later format, another kind of file and a folder are errors, and are not changed")
  func foreign() async throws {
    func kind(_ name: String) -> JournalError.Kind? {
      #expect(throws: JournalError.self) { try FileJournal(folder.file(name)) }?.kind
    }
    let text = Array("Dear diary, this is no journal\n".utf8)
    try folder.write(text, to: "text")
    #expect(kind("text") == .notAJournal)
    #expect(try folder.bytes(of: "text") == text)
    try folder.write(Array("PK".utf8) + [9], to: "short")
    #expect(kind("short") == .notAJournal)
    // This is the header of format 2, with its checksum.
    let later = Array("PKJOURNL".utf8) + [2, 0, 0, 0] + [0x94, 0x4a, 0xa0, 0x91]
    try folder.write(later, to: "later")
    #expect(kind("later") == .unknownVersion)
    #expect(kind(".") == .unreadable)
    #expect(kind("missing/a") == .unreadable)
    #expect(throws: JournalError.self) { try FileJournal("/dev/full") }
  }

  @Test("A compaction keeps the latest entries of the kept keys, and the journal continues in the new file")
  func compaction() async throws {
    let journal = try FileJournal(path)
    for round in 0..<50 as Range<UInt8> {
      for key in Self.keys { try await journal.append([round], for: key) }
    }
    let before = await journal.byteCount
    try await journal.compact { $0.path != "a" }
    #expect(await journal.byteCount < before / 20)
    #expect(await journal.entryCount == 2)
    #expect(try await journal.read(Self.keys[0]) == nil)
    #expect(try await journal.read(Self.keys[2]) == [49])
    try await journal.append([50], for: Self.keys[0])
    try await journal.close()
    let again = try FileJournal(path)
    #expect(try await again.read(Self.keys[0]) == [50])
    #expect(try await again.read(Self.keys[1]) == [49])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.journal"])
  }

  @Test("A compaction replaces the target of a link, which is then in use for another journal")
  func compactedBehindLink() async throws {
    let link = folder.file("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "a.journal")
    let journal = try FileJournal(link)
    try await journal.append([1], for: Self.keys[0])
    try await journal.compact()
    try await journal.append([2], for: Self.keys[0])
    let error = #expect(throws: JournalError.self) { try FileJournal(path) }
    #expect(error?.kind == .inUse)
    try await journal.close()
    #expect(try await FileJournal(path).read(Self.keys[0]) == [2])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "a.journal")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a.journal", "link"])
  }

  @Test("A compacted file has the permissions of the old one")
  func permissions() async throws {
    let journal = try FileJournal(path)
    for permissions in [0o600, 0o640] {
      try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
      try await journal.compact()
      #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == permissions)
    }
  }

  @Test(
    "All concurrent appends are written, however the journal flushes",
    arguments: [.everyEntry, .every(7), .never] as [FileJournal.Flush])
  func concurrent(flush: FileJournal.Flush) async throws {
    let journal = try FileJournal(path, flush: flush)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 as Range<UInt8> {
        group.addTask { try await journal.append([number], for: Self.key("k", number)) }
      }
      try await group.waitForAll()
    }
    try await journal.close()
    let again = try FileJournal(path)
    for number in 0..<100 as Range<UInt8> { #expect(try await again.read(Self.key("k", number)) == [number]) }
  }
}
