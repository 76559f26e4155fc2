/// A gate at which bodies wait for a test's instructions. Waiting bodies take instructions in order of arrival.
final class Gate<Word: Sendable>: Sendable {
  private struct Words {
    var said: [Result<Word, any Error>] = []
    /// The instruction for all bodies without another instruction.
    var standing: Result<Word, any Error>?

    mutating func take() -> Result<Word, any Error>? {
      said.isEmpty ? standing : said.removeFirst()
    }
  }

  private let room = WaitingRoom<Words, Void, Word>(Words())

  /// The number of waiting bodies.
  var waitingCount: Int { room.visit { _, guests in guests.waiting.count } }

  /// Gives an instruction to the first waiting body, or to the next body.
  func say(_ word: Result<Word, any Error>) {
    room.visit { words, guests in
      if let first = guests.waiting.first { guests.answer(first.number, word) } else { words.said.append(word) }
    }
  }

  /// Gives an instruction to all waiting bodies, and to every later body without another instruction.
  func sayToAll(_ word: Result<Word, any Error>) {
    room.visit { words, guests in
      words.standing = word
      guests.answer(word) { true }
    }
  }

  /// Waits for an instruction.
  ///
  /// - Throws: The error of the instruction; `CancellationError` if the task is cancelled before, unless
  ///   `ignoringCancellation` is `true`.
  func word(ignoringCancellation: Bool) async throws -> Word {
    try await room.wait(isCancellable: !ignoringCancellation, wish: { _ in }, answerAtOnce: { $0.take() })
  }
}
