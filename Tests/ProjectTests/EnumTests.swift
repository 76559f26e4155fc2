import TestSupport
import Testing

/// A new case of a public enum breaks a `switch` in another package, unless the enum is marked as one that can grow.
@Suite struct EnumTests {
  /// The public enums that have cases, but neither of the two attributes.
  static func findings(in file: TextFile) -> [String] {
    file.code.indices.filter { index in
      file.code[index].has("enum ") && file.code[index].contains(/\bpublic (?:indirect )?enum\s/)
        && hasCases(index, in: file) && !isMarked(index, in: file)
    }.map { file.finding($0, "is neither @frozen nor @nonexhaustive") }
  }

  /// Relies on the formatter: members are to the right of their type, and cases are at the beginning of a line.
  private static func hasCases(_ index: Int, in file: TextFile) -> Bool {
    let indentation = file.code[index].indentation
    let body = file.code[(index + 1)...].prefix { $0.trimmed.isEmpty || $0.indentation > indentation }
    return body.contains { $0.indentation == indentation + 2 && ($0.trimmed + " ").hasPrefix("case ") }
  }

  private static func isMarked(_ index: Int, in file: TextFile) -> Bool {
    let above = file.code[..<index].reversed().prefix { $0.trimmed.hasPrefix("@") }
    return (Array(above) + [file.code[index]]).contains { $0.has("@frozen") || $0.has("@nonexhaustive") }
  }

  @Test("Each public enum states whether later versions can add cases")
  func sources() throws {
    #expect(try Checkout.files(under: "Sources").flatMap(Self.findings) == [])
  }

  @Test(
    "Enums without a mark are found, and enums without cases pass",
    arguments: [
      ("/// A.\npublic enum A {\n  /// B.\n  case b\n}", 1), ("public enum A: Error {\n  case b(Int)\n}", 1),
      ("/// @frozen\npublic enum A {\n  case b\n}", 1), ("@available(*, deprecated)\npublic enum A {\n  case b\n}", 1),
      ("#if os(macOS)\n  public enum A {\n    case b\n  }\n#endif", 1), ("@frozen\npublic enum A {\n  case b\n}", 0),
      ("@available(*, deprecated)\n@nonexhaustive\npublic enum A {\n\n  case b\n}", 0),
      ("@frozen public enum A {\n  case b\n}", 0), ("enum A {\n  case b\n}", 0),
      ("public enum A {\n  func b() {\n    switch self {\n    case .c: break\n    }\n  }\n}", 0),
      ("public enum A {}\nenum B {\n  case c\n}", 0), ("public indirect enum A {\n  case b\n}", 1),
    ])
  func marks(_ source: String, count: Int) {
    #expect(Self.findings(in: TextFile("A.swift", source)).count == count)
  }
}
