/// A value of a user's that looks at something when it is let go of: at what is locked, it would wait for ever.
final class LastLook: Sendable {
  private let look: @Sendable () -> Void

  init(_ look: @escaping @Sendable () -> Void) {
    self.look = look
  }

  deinit { look() }
}
