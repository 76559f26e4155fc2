/// A user's value that calls a function when it is released. If a lock were held, the function would deadlock.
final class LastLook: Sendable {
  private let look: @Sendable () -> Void

  init(_ look: @escaping @Sendable () -> Void) {
    self.look = look
  }

  deinit { look() }
}
