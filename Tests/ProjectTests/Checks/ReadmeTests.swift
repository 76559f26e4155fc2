import Testing

@Suite struct ReadmeTests {
  private let text: String

  init() throws {
    text = try #require(Checkout.text(of: "README.md"), "The package has a README")
  }

  @Test("The README is short, closes its blocks and names its two commands")
  func form() {
    Finding.record(Readme(text).findingsOnForm)
  }

  @Test("The README's code is a piece of an example or a test that is compiled")
  func snippets() {
    Finding.record(Readme(text).markdown.findingsOnSnippets(in: Checkout.examples))
  }

  @Test("Every path in the README exists")
  func paths() {
    let top = TopLevel.allowed.union([".ci", ".swift-format", ".gitignore", ".spi.yml"]).filter(Checkout.exists)
    let paths = top.flatMap { [$0, $0 + "/"] + Checkout.paths(under: $0) }
    Finding.record(Readme(text).findingsOnPaths(in: Set(paths)))
  }
}
