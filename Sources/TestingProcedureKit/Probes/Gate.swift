/// Where bodies wait for a word from the test. Words are taken in the order in which they were said, by those who wait in
/// the order in which they came.
final class Gate<Word: Sendable>: Sendable {
  private struct Words {
    var said: [Result<Word, any Error>] = []
    /// What everybody gets for whom there is no other word.
    var standing: Result<Word, any Error>?

    mutating func take() -> Result<Word, any Error>? {
      said.isEmpty ? standing : said.removeFirst()
    }
  }

  private let room = WaitingRoom<Words, Void, Word>(Words())

  /// How many wait for a word.
  var waitingCount: Int { room.visit { _, guests in guests.waiting.count } }

  /// Says a word to the first who waits, or to the next who comes.
  func say(_ word: Result<Word, any Error>) {
    room.visit { words, guests in
      if let first = guests.waiting.first { guests.answer(first.number, word) } else { words.said.append(word) }
    }
  }

  /// Says a word to everybody who waits and to all who come and find no other.
  func sayToAll(_ word: Result<Word, any Error>) {
    room.visit { words, guests in
      words.standing = word
      guests.answer(word) { true }
    }
  }

  /// Waits for a word.
  ///
  /// - Throws: The word, if it is an error; `CancellationError` if the task is cancelled before the word comes, unless
  ///   that is to be ignored.
  func word(ignoringCancellation: Bool) async throws -> Word {
    try await room.wait(isCancellable: !ignoringCancellation, wish: { _ in }, answerAtOnce: { $0.take() })
  }
}
