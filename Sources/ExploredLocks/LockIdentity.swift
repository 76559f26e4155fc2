/// The identity of an explored lock, with the location where the lock was created.
package final class LockIdentity: Sendable, Hashable {
  package let location: CodeLocation

  package init(_ location: CodeLocation) {
    self.location = location
  }

  package static func == (left: LockIdentity, right: LockIdentity) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
