/// An object that counts its instances.
final class Tracked: Sendable {
  private let live: Box<Int>

  init(_ live: Box<Int>) {
    self.live = live
    live.update { $0 += 1 }
  }

  deinit { live.update { $0 -= 1 } }
}
