import Foundation
import Testing

@Suite struct TopLevelTests {
  @Test("The top level holds the package's folders, its manifest, readme and licence, and dot files")
  func checkout() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Checkout.root.path)
    let ignored = (Checkout.text(of: ".gitignore") ?? "").split(separator: "\n")
    #expect(TopLevel.strangers(among: names, ignored: ignored) == [])
  }

  @Test("What does not belong there is found, unless git ignores it")
  func strangers() {
    let names = [".ci", "Sources", "README.md", "docs", "Makefile", "a.profraw", "out"]
    #expect(TopLevel.strangers(among: names, ignored: ["*.profraw", "/out/"]) == ["Makefile", "docs"])
  }
}
