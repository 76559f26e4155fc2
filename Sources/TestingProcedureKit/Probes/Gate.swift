/// A gate at which bodies wait for a test's instructions. Waiting bodies take instructions in order of arrival.
final class Gate<Word: Sendable>: Sendable {
  private struct Words {
    var said: [Result<Word, any Error>] = []
    /// The instruction for all bodies without another instruction.
    var standing: Result<Word, any Error>?
    /// The numbers of the bodies in order of arrival; those of bodies that no longer wait are skipped.
    var line: [UInt64] = []

    mutating func take() -> Result<Word, any Error>? {
      said.isEmpty ? standing : said.removeFirst()
    }
  }

  private let room = WaitingRoom<Words, Void, Word>(Words())

  /// The number of waiting bodies.
  var waitingCount: Int { room.visit { _, guests in guests.count } }

  /// Gives an instruction to the first waiting body, or to the next body.
  func say(_ word: Result<Word, any Error>) {
    room.visit { words, guests in
      while !words.line.isEmpty {
        if guests.answer(words.line.removeFirst(), word) { return }
      }
      words.said.append(word)
    }
  }

  /// Gives an instruction to all waiting bodies, and to every later body without another instruction.
  func sayToAll(_ word: Result<Word, any Error>) {
    room.visit { words, guests in
      words.standing = word
      words.line = []
      guests.answer(word) { true }
    }
  }

  /// Waits for an instruction.
  ///
  /// - Throws: The error of the instruction; `CancellationError` if the task is cancelled before, unless
  ///   `ignoringCancellation` is `true`.
  func word(ignoringCancellation: Bool) async throws -> Word {
    try await room.wait(
      isCancellable: !ignoringCancellation, wish: { _ in }, answerAtOnce: { $0.take() },
      didArrive: { words, _, guest in words.line.append(guest.number) })
  }
}
