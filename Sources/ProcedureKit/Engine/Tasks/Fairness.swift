/// Internal. Lets other tasks have the thread now and then, while one task executes many small bodies in a row.
///
/// A body that never suspends does not give the thread up, and a worker goes straight on with the next. A yield takes about
/// a microsecond; one in so many bodies costs each of them a few nanoseconds.
struct Fairness {
  private static let piecesBetweenYields: UInt8 = 128

  private var piecesLeft = Self.piecesBetweenYields

  /// A body is about to end. Says whether it is time to let other tasks have the thread, by a `Task.yield()` at a moment at
  /// which nothing is held that others could wait for.
  mutating func pieceEnds() -> Bool {
    piecesLeft -= 1
    guard piecesLeft == 0 else { return false }
    piecesLeft = Self.piecesBetweenYields
    return true
  }
}
