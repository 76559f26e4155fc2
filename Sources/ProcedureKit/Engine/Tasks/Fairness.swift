/// Internal. Says when one task that executes many bodies in a row has to let other tasks have the thread.
///
/// A body that never suspends does not give the thread up, and a worker goes straight on with the next. So a worker yields
/// after a millisecond, or after so many bodies. It looks at the clock the more seldom the shorter the bodies are: after
/// one, two, four …, so that looking costs short ones next to nothing.
struct Fairness {
  private static let mostPiecesBetweenLooks = 128
  private static let longestTimeBetweenYields = Duration.milliseconds(1)

  /// `nil` without a queue; bodies are only counted then.
  private let time: QueueTime?
  private var lastYield: ProcedureInstant?
  private var piecesBetweenLooks = 1
  private var piecesLeft = 1

  init(_ time: QueueTime?) {
    self.time = time
    lastYield = time?.now
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
    let yields = tookLong || piecesBetweenLooks == Self.mostPiecesBetweenLooks
    if yields { lastYield = now }
    piecesBetweenLooks = tookLong ? 1 : min(piecesBetweenLooks * 2, Self.mostPiecesBetweenLooks)
    piecesLeft = piecesBetweenLooks
    return yields
  }
}
