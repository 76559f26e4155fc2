/// Internal. A number in a journal that lives while a procedure is under way, and survives when its process is killed.
struct JournalNumber: Sendable {
  let journal: any ProcedureJournal
  let key: JournalKey

  /// Returns the number; 0 if none was written. A number that the library does not write is an error.
  func read(in range: ClosedRange<Int64> = .min ... .max) async throws -> Int64 {
    guard let bytes = try await journal.read(key) else { return 0 }
    var rest = bytes[...]
    guard let number: Int64 = rest.readNumber(), rest.isEmpty else {
      throw JournalError(.damaged, journal: journal.name, "has an entry for \(key) that is no number")
    }
    guard range.contains(number) else {
      throw JournalError(
        .damaged, journal: journal.name, "has an entry for \(key) with the number \(number), which nothing here writes")
    }
    return number
  }

  func write(_ number: Int64) async throws {
    try await journal.append(number.littleEndianBytes, for: key)
  }
}
