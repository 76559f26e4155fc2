/// Internal. Something that a body waits for on a level inside of it, for those who ask what a procedure waits for.
final class InnerWait: Sendable {
  enum Kind: Sendable {
    /// The conditions of these names.
    case conditions([String])
    /// What this claim wants to hold.
    case resources(ResourceClaim)
  }

  let kind: Kind

  init(_ kind: Kind) {
    self.kind = kind
  }
}
