/// What may stand at the top of the package.
enum TopLevel {
  static let allowed: Set = ["Package.swift", "Sources", "Tests", "Examples", "README.md", "LICENSE"]

  /// The names that do not belong there; what `.gitignore` names is not part of the package.
  static func strangers(among names: [String], ignored patterns: [Substring]) -> [String] {
    names.filter { name in
      !name.hasPrefix(".") && !allowed.contains(name) && !patterns.contains { matches(name, $0) }
    }
    .sorted()
  }

  /// Understands a name with one `*` at most, which is all that the package's `.gitignore` uses.
  private static func matches(_ name: String, _ pattern: Substring) -> Bool {
    let parts = pattern.drop { $0 == "/" }.split(separator: "/").first?
      .split(separator: "*", maxSplits: 1, omittingEmptySubsequences: false)
    guard let parts, let head = parts.first, let tail = parts.last else { return false }
    return parts.count == 1
      ? name == head
      : name.hasPrefix(head) && name.hasSuffix(tail) && name.count >= head.count + tail.count
  }
}
