import TestSupport
import Testing

@Suite struct ReadmeTests {
  /// Returns the files and folders that a page links to, or names with a path that begins with a folder of the package, outside code.
  static func paths(in page: TextFile) -> [String] {
    let code = page.blocks.filter { $0.language.hasPrefix("swift") }.map(\.lines)
    return page.lines.enumerated().filter { line in !code.contains { $0.contains(line.offset) } }.flatMap { _, line in
      let links = line.matches(of: /(?:\]\(|\]: |src="|href=")([^)" #]+)/).map(\.1).filter { !$0.contains(":") }
      let names = line.matches(of: /\b(?:Sources|Tests|Examples)\/[\w\/.+-]*|\.ci\/[\w-]*/).map(\.0)
      return (links + names.map { $0.last == "." ? $0.dropLast() : $0 }).map(String.init)
    }
  }

  @Test("Every path in the pages exists", arguments: ["README.md", ".github/CONTRIBUTING.md"])
  func paths(page: String) throws {
    // The links of a page are relative to its folder, and the names in its text are relative to the top level.
    let paths = Self.paths(in: TextFile(page, try Checkout.text(of: page))).map { path in
      page.hasPrefix(".github/") && path.hasPrefix("../") ? String(path.dropFirst(3)) : path
    }
    #expect(paths.filter { !Checkout.exists($0) } == [])
    #expect(!paths.isEmpty)
  }

  /// Returns the number of lines of each function at the top level of a file.
  static func lineCounts(in file: TextFile) -> [Int] {
    let starts = file.lines.indices.filter { file.lines[$0].hasPrefix("func ") }
    return starts.compactMap { start in file.lines[start...].firstIndex(of: "}").map { $0 - start + 1 } }
  }

  @Test("The README has at most 150 lines, and counts the lines of the functions written by hand")
  func counts() throws {
    let readme = TextFile("README.md", try Checkout.text(of: "README.md"))
    let byHand = TextFile("ByHand.swift", try Checkout.text(of: "Tests/ReadmeTests/ByHand.swift"))
    let stated = readme.lines.compactMap { $0.firstMatch(of: /By hand.*: (\d+) lines/).flatMap { Int($0.1) } }
    #expect(stated == Self.lineCounts(in: byHand))
    #expect(stated.count == 3)
    #expect(readme.lines.count <= 151)  // The last one is empty.
    let example = "func a() {\n  b()\n}\n\n  func c() {\n  }\nfunc d() {\n}\n"
    #expect(Self.lineCounts(in: TextFile("A.swift", example)) == [3, 2])
  }

  @Test("Paths are found in links and text, and web addresses are ignored")
  func mistakes() {
    let text = """
      [a](LICENSE) [b](https://example.org/x) [c](#here) ![d](GONE.md#L3 "t") <img src="gone.png">
      `Sources/M/A.swift`, in Tests/B, or Examples/.
      [ref]: docs/gone.md
      ```swift
      let a = b/c/ Sources/None
      ```
      """
    let paths = ["LICENSE", "GONE.md", "gone.png", "Sources/M/A.swift", "Tests/B", "Examples/", "docs/gone.md"]
    #expect(Self.paths(in: TextFile("README.md", text)) == paths)
    #expect(paths.filter { !Checkout.exists($0) } == paths.filter { $0 != "LICENSE" && $0 != "Examples/" })
  }
}
