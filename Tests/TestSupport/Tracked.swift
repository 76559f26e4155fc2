/// An object that counts its instances.
package final class Tracked: Sendable {
  private let live: Box<Int>

  package init(_ live: Box<Int>) {
    self.live = live
    live.update { $0 += 1 }
  }

  deinit { live.update { $0 -= 1 } }
}
