/// The identity of a lock, with the place of its initialization.
final class LockIdentity: Sendable, Hashable, CustomStringConvertible {
  private let fileID: StaticString
  private let line: UInt

  init(fileID: StaticString, line: UInt) {
    self.fileID = fileID
    self.line = line
  }

  var description: String { "the lock of \(fileID):\(line)" }

  static func == (lhs: LockIdentity, rhs: LockIdentity) -> Bool { lhs === rhs }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
