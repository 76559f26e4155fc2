/// Internal. Lets other tasks have the thread now and then, while one task executes many small bodies in a row.
///
/// A body that never suspends does not give the thread up, and a worker goes straight on with the next. A yield takes about
/// a microsecond; one in so many bodies costs each of them a few nanoseconds.
struct Fairness {
  private static let piecesBetweenYields: UInt8 = 128

  private var piecesLeft = Self.piecesBetweenYields

  /// A body has ended. Cancelling the caller changes nothing.
  mutating func pieceDone() async {
    piecesLeft -= 1
    guard piecesLeft == 0 else { return }
    piecesLeft = Self.piecesBetweenYields
    await Task.yield()
  }
}
