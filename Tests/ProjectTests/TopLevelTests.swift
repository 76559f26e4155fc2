import Foundation
import TestSupport
import Testing

@Suite struct TopLevelTests {
  static let allowed: Set = ["Package.swift", "Sources", "Tests", "Examples", "README.md", "LICENSE"]

  /// Returns the names that do not belong at the top level. An ignored name can begin with a `*` and end with one.
  static func strangers(among names: [String], ignored: [Substring]) -> [String] {
    let ignored = ignored.map { $0.split(separator: "/").joined() }
    return names.filter { name in
      !name.hasPrefix(".") && !allowed.contains(name)
        && !ignored.contains { $0.first == "*" ? name.hasSuffix($0.dropFirst()) : name == $0 }
    }
  }

  @Test("The top level contains the package's folders, its manifest, readme and licence, and dot files")
  func checkout() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Checkout.root.path)
    let ignored = try Checkout.text(of: ".gitignore").split(separator: "\n")
    #expect(Self.strangers(among: names, ignored: ignored) == [])
    #expect(Self.allowed.subtracting(names) == [])
  }

  @Test("Files that do not belong at the top level are found, unless git ignores them")
  func strangers() {
    let names = [".ci", "Sources", "README.md", "docs", "Makefile", "a.profraw", "out"]
    #expect(Self.strangers(among: names, ignored: ["*.profraw", "/out/"]) == ["docs", "Makefile"])
  }
}
