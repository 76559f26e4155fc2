/// The identity of an explored lock, with the place of the lock's initialization.
package final class LockIdentity: Sendable, Hashable {
  package let place: CodePlace

  package init(_ place: CodePlace) {
    self.place = place
  }

  package static func == (left: LockIdentity, right: LockIdentity) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
