/// What the checks need from `Package.swift`.
struct Manifest: Sendable {
  struct Target: Equatable, Sendable {
    let kind: String
    let name: String
    /// Where its sources are, relative to the package.
    let folder: String
    /// The expression after `swiftSettings:`, if there is one.
    let settings: String?
    let line: Int
  }

  let upcomingFeatures: [String]
  let targets: [Target]

  init(_ file: SourceFile) {
    let code = file.code
    upcomingFeatures = file.occurrences(of: [".", "enableUpcomingFeature", "("]).map { code[$0 + 3].text }
    targets = code.indices.compactMap { Self.target(at: $0, in: code) }
  }

  private static func target(at index: Int, in code: [Token]) -> Target? {
    let kinds = ["target", "executableTarget", "testTarget"]
    guard index > 0, index + 1 < code.count, code[index - 1].matches("."), kinds.contains(code[index].text),
      code[index + 1].matches("(")
    else { return nil }
    var arguments: [String: String] = [:]
    var depth = 1
    var next = index + 2
    while next < code.count, depth > 0 {
      if code[next].matches("(") || code[next].matches("[") { depth += 1 }
      if code[next].matches(")") || code[next].matches("]") { depth -= 1 }
      if depth == 1, next + 2 < code.count, code[next].kind == .word, code[next + 1].matches(":") {
        arguments[code[next].text] = code[next + 2].text
      }
      next += 1
    }
    let kind = code[index].text
    let name = arguments["name", default: ""]
    let folder = arguments["path"] ?? (kind == "testTarget" ? "Tests/\(name)" : "Sources/\(name)")
    return Target(
      kind: kind, name: name, folder: folder, settings: arguments["swiftSettings"], line: code[index].line)
  }
}
