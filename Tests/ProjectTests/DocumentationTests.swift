import TestSupport
import Testing

/// Tests that declarations have comments. The formatter also requires comments, but not for the cases of an enum and the requirements of a
/// protocol.
@Suite struct DocumentationTests {
  static func findings(in file: TextFile) -> [String] {
    file.code.indices.filter { isPublic($0, in: file) && !isDocumented($0, in: file) }
      .map { file.finding($0, "is public and has no documentation") }
  }

  /// Returns whether the line declares something public. The function relies on the formatter, which puts one declaration on a line, and
  /// indents members.
  private static func isPublic(_ index: Int, in file: TextFile) -> Bool {
    let line = file.code[index]
    let words = line.split { $0 == " " || $0 == "(" || $0 == "<" }
    if words.contains("public") { return !words.contains("import") && !words.contains("extension") }
    let isCase = words.first == "case" || words.first == "indirect"
    guard isCase || !requirements.isDisjoint(with: words) else { return false }
    let outer = file.code[..<index].last { !$0.isEmpty && $0.indentation < line.indentation } ?? ""
    return outer.has("public ") && outer.has(isCase ? "enum " : "protocol ")
  }

  private static let requirements: Set<Substring> = ["associatedtype", "func", "init", "subscript", "var"]

  private static func isDocumented(_ index: Int, in file: TextFile) -> Bool {
    var above = file.lines[..<index]
    while let line = above.last?.trimmed, line.hasPrefix("@") || line == ")" {
      // The formatter breaks a long attribute into several lines, the last of which is the parenthesis.
      if line == ")" {
        while let part = above.last?.trimmed, !part.isEmpty, !part.hasPrefix("@") { above.removeLast() }
      }
      _ = above.popLast()
    }
    return above.last?.trimmed.hasPrefix("///") == true
  }

  @Test("All public declarations are documented")
  func sources() throws {
    let findings = try Checkout.files(under: "Sources").flatMap(Self.findings)
    #expect(findings == [])
  }

  private static func endlessRetries(in file: TextFile) -> [String] {
    file.lines.indices.filter { index in
      let line = file.lines[index]
      return line.has("retry(.immediate") && !["maxAttempts", "budget", "prefix"].contains { line.has($0) }
    }.map { file.finding($0, "retries without a delay and without a limit") }
  }

  @Test("No library code, guide or example retries without a delay and without a limit")
  func retries() throws {
    let files =
      try Checkout.files(under: "Sources", "Examples")
      + Checkout.files(under: "Sources", ending: ".md") + [TextFile("README.md", try Checkout.text(of: "README.md"))]
    #expect(files.flatMap(Self.endlessRetries) == [])
    #expect(Self.endlessRetries(in: TextFile("A.swift", "/// a.retry(.immediate)")).count == 1)
    #expect(Self.endlessRetries(in: TextFile("A.swift", "/// a.retry(.immediate, maxAttempts: 2)")).isEmpty)
  }

  @Test(
    "Gaps are found, and declarations that are documented or not public pass",
    arguments: [
      ("public struct A {}", 1), ("/// A.\n\npublic struct A {}", 1), ("// A.\nnonisolated public func a()", 1),
      ("/// A.\npublic indirect enum A {\n  /// B.\n  case b\n  case c(Int)\n}", 1),
      ("/// A.\n@available(*, deprecated)\npublic protocol A {\n  func b()\n}", 1),
      ("/// A.\n@available(\n  *, deprecated\n)\npublic func a()", 0),
      ("@available(\n  *, deprecated\n)\npublic func a()", 1),
      ("struct A {\n  @inlinable public private(set) var b = 1\n}", 1), ("@frozen\npublic struct A {}", 1),
      ("/// A.\npublic protocol A {\n  /// B.\n  associatedtype B\n  static var c: Int { get }\n}", 1),
      ("/// A.\n@frozen\npublic struct A {\n  var b = 1\n}", 0), ("@_exported public import C", 0),
      ("enum A {\n  case b\n}", 0), ("let a = \"\"\"\n  public struct B {}\n  \"\"\"", 0),
      ("/// A.\npublic enum A {\n  func b() {\n    switch self {\n    case .c: break\n    }\n  }\n}", 0),
    ])
  func gaps(_ source: String, count: Int) {
    #expect(Self.findings(in: TextFile("A.swift", source)).count == count)
  }
}
