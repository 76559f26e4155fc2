/// Internal. Decides when a task that executes many bodies in a row lets other tasks have the thread.
///
/// A body that never suspends does not give up the thread, and a worker goes straight on with the next body. So a worker yields after ten
/// milliseconds, about the time for which operating systems leave a processor to a thread. The worker looks at the clock after one, two,
/// four … bodies, the more seldom the shorter they are. A yield is dear, since it wakes another thread. Bodies are counted only on a
/// clock that may stand still.
struct Fairness {
  private static let mostPiecesBetweenLooks = 128
  private static let mostPiecesWithoutClock = 1_024
  private static let longestTimeBetweenYields = Duration.milliseconds(10)

  /// `nil` without a queue; bodies are only counted then.
  private let time: QueueTime?
  private let mostPieces: Int
  private let countsPieces: Bool
  private var lastYield: ProcedureInstant?
  private var piecesBetweenLooks = 1
  private var piecesLeft = 1

  init(_ time: QueueTime?) {
    self.time = time
    lastYield = time?.now
    mostPieces = time == nil ? Self.mostPiecesWithoutClock : Self.mostPiecesBetweenLooks
    countsPieces = !(time?.isSystem ?? false)
  }

  /// A body is about to end. Says whether to `Task.yield()`, at a moment at which nothing is held that others could wait for.
  mutating func pieceEnds() -> Bool {
    piecesLeft -= 1
    return piecesLeft == 0 && lookEndsInYield()
  }

  private mutating func lookEndsInYield() -> Bool {
    let now = time?.now
    let tookLong =
      now.flatMap { now in lastYield.map { $0.duration(to: now) } } ?? .zero >= Self.longestTimeBetweenYields
    let yields = tookLong || (countsPieces && piecesBetweenLooks == mostPieces)
    if yields { lastYield = now }
    piecesBetweenLooks = tookLong ? 1 : min(piecesBetweenLooks * 2, mostPieces)
    piecesLeft = piecesBetweenLooks
    return yields
  }
}
