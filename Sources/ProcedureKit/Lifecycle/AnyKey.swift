/// Internal. A key of any type, as users choose it.
struct AnyKey: Hashable, Sendable {
  let value: any Hashable & Sendable

  static func == (one: AnyKey, other: AnyKey) -> Bool {
    AnyHashable(one.value) == AnyHashable(other.value)
  }

  func hash(into hasher: inout Hasher) {
    // As `AnyHashable`, so that values that are equal across types are equal here as well.
    AnyHashable(value).hash(into: &hasher)
  }
}
