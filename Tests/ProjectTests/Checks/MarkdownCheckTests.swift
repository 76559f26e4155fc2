import Testing

/// That the checks of the README and the guides find what they are for.
@Suite struct MarkdownCheckTests {
  @Test("Open blocks are found")
  func fences() {
    #expect(Markdown("A.md", "```swift\nlet a = 1\n```\n~~~\n```\n~~~\n").findingsOnFences == [])
    #expect(
      Markdown("G.docc/A.md", "text\n```swift\nlet a = 1\n").findingsOnFences
        == [Finding(path: "G.docc/A.md", line: 2, message: "opens a block that nothing closes")])
  }

  private static let example = SourceFile(
    "Examples/A/A.swift",
    #"""
    struct A {
      func f() {
        let a = 1

        if a > 0 {
          g(a)
        }
      }
    }
    // let commented = 1
    let text = """
      let quoted = 1
      """
    """#)

  @Test(
    "Snippets that are a piece of the file are accepted at any indentation",
    arguments: [
      "let a = 1\n\nif a > 0 {\n  g(a)\n}", "    g(a)", "struct A {\n  func f() {", "g(a)",
      "  let a = 1\n\n  if a > 0 {",
      "// let commented = 1\nlet text = \"\"\"",
    ])
  func found(_ snippet: String) {
    let text = Markdown("A.md", "```swift\n\(snippet)\n```\n```sh\nlet x\n```\n")
    #expect(text.findingsOnSnippets(in: [Self.example]) == [])
  }

  @Test(
    "Snippets that differ, skip lines, or are not compiled are found",
    arguments: [
      "let a = 2", "let a = 1\nif a > 0 {", "if a > 0 {\ng(a)\n}", "if a > 0 {\n    g(a)\n}",
      "let a = 1\n\nif a > 0 {\n  …",
      "// let commented = 1", "let commented = 1", "let quoted = 1", "", "\n", "g(a",
      "struct A {\n  func f() {\n    let a = 1\n  }",
    ])
  func notFound(_ snippet: String) {
    let text = Markdown("A.md", "text\n\n  ```swift title\n\(snippet)\n  ```\n")
    #expect(text.findingsOnSnippets(in: [Self.example]).map(\.line) == [3])
  }
}
