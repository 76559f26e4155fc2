/// A user's value that calls a function when it is released. The function would deadlock if a lock were held.
final class LastLook: Sendable {
  private let look: @Sendable () -> Void

  init(_ look: @escaping @Sendable () -> Void) {
    self.look = look
  }

  deinit { look() }
}
