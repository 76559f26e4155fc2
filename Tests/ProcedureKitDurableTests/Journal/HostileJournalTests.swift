import Foundation
import ProcedureKit
import ProcedureKitDurable
import TestSupport
import Testing
import TestingProcedureKit

/// Tests journals with valid checksums whose contents the library would never write, and journals with random damage.
@Suite(.timeLimit(.minutes(10))) struct HostileJournalTests {
  private let folder: TemporaryFolder
  private let quiet = ProcedureLog(to: LogCollector())

  init() throws { folder = try TemporaryFolder() }

  private static let keys = ["a", "", "b\u{e9}", "g/node"].map {
    JournalKey(path: $0, fingerprint: Fingerprint(of: Array($0.utf8)))
  }

  @Test("A payload with lengths that exceed it, or with a path that is not text, is damage")
  func payloads() async throws {
    let fingerprint = [UInt8](repeating: 1, count: 32)
    let payloads: [[UInt8]] = [
      [], [1], JournalImage.number(0), JournalImage.number(0) + fingerprint.dropLast(),
      JournalImage.number(1) + fingerprint, JournalImage.number(-1) + fingerprint + fingerprint,
      JournalImage.number(1 << 31) + fingerprint, JournalImage.number(2) + [0xff, 0xfe] + fingerprint,
    ]
    for payload in payloads {
      var image = JournalImage()
      image.add(Self.keys[0], [5])
      image.add(payload: payload)
      try folder.write(image.bytes, to: "a")
      let error = #expect(throws: JournalError.self) { try FileJournal(folder.file("a"), log: quiet) }
      #expect(error?.kind == .damaged, "\(payload)")
      let journal = try FileJournal(folder.file("a"), onDamage: .cutOff, log: quiet)
      #expect(try await journal.read(Self.keys[0]) == [5])
      #expect(await journal.byteCount == image.ends[1])
    }
  }

  @Test("An entry of 4 GB with an impossible key is refused before its bytes are read")
  func large() throws {
    var image = JournalImage()
    let length = Int(UInt32.max)
    image.add(payload: JournalImage.number(length - 35), length: length)
    try folder.write(image.bytes, to: "a")
    // A file with a hole has the size, but not the bytes.
    try #require(truncate(folder.file("a"), 16 + 12 + length) == 0)
    let error = #expect(throws: JournalError.self) { try FileJournal(folder.file("a"), log: quiet) }
    #expect(error?.kind == .damaged)
  }

  @Test("An entry that is longer than a piece can be read, and a changed byte in any piece is found")
  func pieces() async throws {
    var image = JournalImage()
    let value = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
    image.add(Self.keys[0], value)
    let long = JournalKey(path: String(repeating: "p", count: 70_000), fingerprint: Self.keys[0].fingerprint)
    image.add(long, [3])
    try folder.write(image.bytes, to: "a")
    let journal = try FileJournal(folder.file("a"))
    #expect(try await journal.read(Self.keys[0]) == value)
    #expect(try await journal.read(long) == [3])
    try await journal.close()
    for position in stride(from: 100, to: image.bytes.count, by: 40_000) {
      var bytes = image.bytes
      bytes[position] ^= 4
      try folder.write(bytes, to: "a")
      #expect(throws: JournalError.self) { try FileJournal(folder.file("a")) }
    }
  }

  @Test("An entry that was damaged while the journal was open is not copied into a compacted file")
  func damagedCompaction() async throws {
    let journal = try FileJournal(folder.file("a"))
    for key in Self.keys { try await journal.append([9, 9], for: key) }
    let handle = try FileHandle(forUpdating: URL(filePath: folder.file("a")))
    try handle.seek(toOffset: 16 + 12 + 4 + 1 + 32)
    try handle.write(contentsOf: [1])
    try handle.close()
    let error = await #expect(throws: JournalError.self) { try await journal.compact() }
    #expect(error?.kind == .damaged)
    #expect(try await journal.read(Self.keys[1]) == [9, 9])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
    try await journal.compact { $0 != Self.keys[0] }
    try await journal.close()
    #expect(await (try FileJournal(folder.file("a"))).entryCount == 3)
  }

  @Test("A path of more than 16 MiB is refused by an append")
  func longPath() async throws {
    let journal = try FileJournal(folder.file("a"), flush: .never)
    let key = JournalKey(path: String(repeating: "p", count: 1 << 24 + 1), fingerprint: Self.keys[0].fingerprint)
    let error = await #expect(throws: JournalError.self) { try await journal.append([], for: key) }
    #expect(error?.kind == .unwritable)
    #expect(await journal.byteCount == 16)
  }

  /// Runs a counted retry once, which writes an entry, and returns the outcome of a run that finds another entry in its place.
  private func attempts(
    _ bytes: [UInt8], _ schedule: Schedule, maxAttempts: Int
  ) async -> (attempts: [Int], error: (any Error)?) {
    let journal = InMemoryJournal()
    let attempts = Names()
    let task = ProcedureTask("p") { () -> Void in
      attempts.add("\(ProcedureContext.current?.attempt ?? 0)")
      throw Problem(text: "no")
    }
    .retry(schedule, maxAttempts: maxAttempts, countedIn: journal, as: "p") { _, _ in .stop }
    try? await task()
    guard let key = await journal.entries.keys.first else { return ([], nil) }
    _ = attempts.take()
    await journal.append(bytes, for: key)
    do {
      try await task()
      return ([], nil)
    } catch {
      return (attempts.take().compactMap { Int($0) }, error)
    }
  }

  private static func number(_ number: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  @Test("Errors show the text of a journal without control characters")
  func hostileText() {
    let text = "\u{1b}[2J\u{9b}31m\u{202e}kitten"
    struct Failure: Error, CustomStringConvertible {
      let description: String
    }
    let error = JournalError(
      .damaged, journal: text, "has an entry for \(text)", advice: "Remove \(text)",
      underlying: Failure(description: "no \(text)."))
    #expect("\(error)".unicodeScalars.allSatisfy { $0.harmless() == $0 })
    let name = text.inOneLine
    #expect("\(error)" == "the journal \(name) has an entry for \(name): no \(name). Remove \(name)")
    let lines = JournalError(
      .unwritable, journal: "j", "is full", advice: "Wait", underlying: Failure(description: "a\nb."))
    #expect("\(lines)" == "the journal j is full: a\nb.\nWait")
    #expect(lines.localizedDescription == "The journal j is full: a\nb.\nWait.")
    let remembered = RememberedFailure(path: "j/copy", description: "no space")
    #expect(remembered.localizedDescription == "No space.")
  }

  @Test(
    "A counter that is negative, huge or not a number is reported as damage",
    arguments: [
      number(-1), number(.min), number(.max), number(.max - 1), number(1 << 31), [], [1], number(1) + [0],
    ])
  func counters(_ bytes: [UInt8]) async {
    for maxAttempts in [3, Int.max] {
      let (attempts, error) = await attempts(bytes, .immediate, maxAttempts: maxAttempts)
      #expect(attempts.isEmpty && (error as? JournalError)?.kind == .damaged)
    }
  }

  @Test("A large counter leads to exhausted attempts or to the next attempt, in bounded time")
  func largeCounter() async {
    let largest = Int64(Int32.max)
    let (none, error) = await attempts(Self.number(largest), .immediate, maxAttempts: 3)
    #expect(none.isEmpty && error is RememberedFailure)
    let (next, _) = await attempts(Self.number(largest), .constant(.zero), maxAttempts: .max)
    #expect(next == [Int(largest)])
    let (last, short) = await attempts(Self.number(largest), Schedule.immediate.prefix(5), maxAttempts: .max)
    #expect(last.isEmpty && short is RememberedFailure)
  }

  @Test(
    "A counted timeout with an extreme start time expires or has its whole time, and never traps",
    arguments: [
      Int64.min, -1, 1, .max,
    ])
  func starts(_ start: Int64) async {
    let journal = InMemoryJournal(now: { .seconds(1_000) })
    let task = ProcedureTask("p") { 1 }.timeout(.seconds(5), countedIn: journal, as: "p")
    _ = try? await task()
    guard let key = await journal.entries.keys.first else { return }
    await journal.append(Self.number(start), for: key)
    do {
      #expect(try await task() == 1)
      #expect(start == .max)
    } catch {
      #expect((error as? ProcedureError)?.kind == .timedOut || (error as? JournalError)?.kind == .damaged)
    }
  }

  // MARK: Random damage

  private static func image(_ random: inout SeededGenerator) -> JournalImage {
    var image = JournalImage()
    for key in keys + keys {
      let count = [0, 1, 8, 30].randomElement(using: &random) ?? 0
      image.add(key, (0..<count).map { _ in .random(in: 0...255, using: &random) })
    }
    return image
  }

  /// Damages single bytes, ranges, lengths or the end of the journal, or a payload with valid checksums.
  private static func damaged(_ random: inout SeededGenerator) -> [UInt8] {
    var image = image(&random)
    if Bool.random(using: &random) {
      var payload: [UInt8] = JournalImage.number([0, 1, 36, -1, 1 << 24, 1 << 31].randomElement(using: &random) ?? 0)
      payload += (0..<Int.random(in: 0...80, using: &random)).map { _ in .random(in: 0...255, using: &random) }
      let length = Bool.random(using: &random) ? nil : Int.random(in: 0...Int(UInt32.max), using: &random)
      image.add(payload: Array(payload.dropFirst(Int.random(in: 0...4, using: &random))), length: length)
      image.add(keys[0], [1])
    }
    var bytes = image.bytes
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let position = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[position] = .random(in: 0...255, using: &random)
      case 2: bytes.removeSubrange(position..<min(bytes.count, position + Int.random(in: 1...40, using: &random)))
      case 3: bytes.insert(contentsOf: bytes.suffix(from: position).prefix(30), at: position)
      case 4: bytes.replaceSubrange(position..<min(bytes.count, position + 4), with: [0xff, 0xff, 0xff, 0xff])
      default: bytes += [UInt8](repeating: 0, count: Int.random(in: 1...40, using: &random))
      }
      if bytes.isEmpty { bytes = [0] }
    }
    return bytes
  }

  @Test(
    "Each of thousands of damaged journals is a typed error, or can be opened, read, compacted and opened again"
  )
  func fuzz() async throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    var (opened, refused) = (0, 0)
    for round in 0..<TestDepth.count(12_000, least: 1_200) {
      let bytes = Self.damaged(&random)
      try folder.write(bytes, to: "f")
      let damagePolicy: FileJournal.DamagePolicy = Bool.random(using: &random) ? .fail : .cutOff
      do {
        let journal = try FileJournal(folder.file("f"), flush: .never, onDamage: damagePolicy, log: quiet)
        for key in Self.keys { _ = try await journal.read(key) }
        let count = await journal.entryCount
        try await journal.append([4], for: Self.keys[1])
        // A compaction flushes the file, which takes time on a disk.
        if round % 50 == 0 { try await journal.compact() }
        try await journal.close()
        let again = try FileJournal(folder.file("f"), flush: .never, log: quiet)
        #expect(try await again.read(Self.keys[1]) == [4], "seed \(seed), round \(round)")
        #expect(await again.entryCount - count <= 1, "seed \(seed), round \(round)")
        try await again.close()
        opened += 1
      } catch let error as JournalError {
        #expect(
          [.damaged, .notAJournal, .unknownVersion].contains(error.kind), "seed \(seed), round \(round): \(error)")
        refused += 1
      }
    }
    #expect(opened > 100 && refused > 100, "seed \(seed)")
  }

  @Test("With random entries, a durable graph and a remembered procedure return a value or throw a typed error")
  func records() async throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let graph = ProcedureGraph<Int, Int>("g") { g, input in
      let a = g.add("a", from: input) { $0 + 1 }
      return g.add("b", from: a) { $0 * 2 }
    }
    for _ in 0..<TestDepth.count(3_000, least: 300) {
      let journal = InMemoryJournal()
      let tasks = [
        graph.durable(in: journal).procedureTask,
        ProcedureTask<Int, Int>("r") { $0 + 3 }.remembered(in: journal, as: "r", rememberingFailures: true),
      ]
      for task in tasks { _ = try await task(1) }
      for (key, bytes) in await journal.entries {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
          let position = Int.random(in: 0..<min(bytes.count, 16), using: &random)
          bytes[position] =
            [0, 1, 2, 0x7f, 0xff, .random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
          if Int.random(in: 0..<4, using: &random) == 0 {
            bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
          }
        }
        await journal.append(bytes, for: key)
      }
      for task in tasks {
        do {
          _ = try await task(1)
        } catch {
          #expect(error is JournalError || error is RememberedFailure, "seed \(seed): \(error)")
        }
      }
    }
  }
}
