internal import Synchronization

/// A text file with the seeds of failing explorations. Each line contains the seed, the number of schedules up to and including the failing
/// one, and the name of the test.
///
/// Unlike a replay string, a seed remains useful after the code changes. A malformed line causes an error.
struct ExplorationCorpus: Sendable {
  /// A failing exploration.
  struct Entry: Hashable, Sendable {
    var seed: UInt64
    var schedules: Int

    /// Returns `explorer` with settings that repeat the failing exploration.
    func applied(to explorer: ScheduleExplorer) -> ScheduleExplorer {
      var explorer = explorer
      explorer.seed = seed
      explorer.schedules = schedules
      explorer.duration = nil
      explorer.expectedOutcomes = []
      return explorer
    }
  }

  /// The error for a malformed line.
  struct FormatError: Error, CustomStringConvertible {
    var path: String
    var line: Int

    var description: String {
      "\(path):\(line) is not a corpus entry. Delete the line, or replace it with a seed, a number of schedules and the name of a test."
    }
  }

  var path: String

  /// A lock that serializes this process's changes to the files.
  private static let changes = Mutex(())

  /// Returns the entries for a test, in the order in which they appear in the file. If the file is missing, there are none.
  ///
  /// - Throws: `FormatError` if a line is malformed; any error that occurs while the file is being read.
  func entries(of test: String) throws -> [Entry] {
    let lines = try TestProcess.text(ofFile: path).split(separator: "\n", omittingEmptySubsequences: false)
    return try zip(1..., lines).compactMap { number, line in
      if line.isEmpty { return nil }
      let parts = line.split(separator: " ", maxSplits: 2)
      guard parts.count == 3, let seed = UInt64(parts[0]), let schedules = Int(parts[1]), schedules > 0 else {
        throw FormatError(path: path, line: number)
      }
      return parts[2] == test ? Entry(seed: seed, schedules: schedules) : nil
    }
  }

  /// Appends an entry, unless the file already contains it.
  ///
  /// - Throws: `FormatError` if a line is malformed; any error that occurs while the file is being read or written.
  func insert(_ entry: Entry, for test: String) throws {
    try Self.changes.withLock { _ in
      guard try !entries(of: test).contains(entry) else { return }
      try TestProcess.append("\(entry.seed) \(entry.schedules) \(test)\n", toFile: path)
    }
  }
}

extension ExplorationCorpus.Entry {
  /// Creates the entry for a failure.
  init(_ failure: ExplorationFailure) {
    self.init(seed: failure.seed, schedules: failure.schedule + 1)
  }
}
