import Testing

/// That the checks of the README find what they are for.
@Suite struct ReadmeCheckTests {
  @Test("Missing commands, open blocks and excess lines are found")
  func form() {
    let good = "# Kit\n\nTry `swift run kitten`.\n\n```sh\nswift test\n```\n"
    #expect(Readme(good).findingsOnForm == [])
    #expect(Readme("Not swift run kitten, nor `swift test --parallel`").findingsOnForm.map(\.line) == [1, 1])
    #expect(Readme(good + "```swift\nlet a = 1\n").findingsOnForm.map(\.line) == [8])
    #expect(Readme(good + String(repeating: "\n", count: 142)).findingsOnForm == [])
    #expect(Readme(good + String(repeating: "\n", count: 143)).findingsOnForm.map(\.line) == [150])
  }

  @Test("Paths that lead nowhere are found in links, code and folder maps, and addresses are not followed")
  func paths() {
    let text = """
      [a](LICENSE) [b](Sources/M) [c](https://example.org/x) [d](#here) ![e](Sources/M/A.swift#L3 "t") [f](GONE.md)
      <img src="gone.png"> and `Sources/M/A.swift`, `Sources/Gone/`, `Queue/`, `Missing/`, `try/catch`, `A.Type`
      [ref]: docs/gone.md

      ```
      Sources/M/
        Queue/   the face
        Lost/    nothing
      ```
      ```sh
      ls Tests/M out/ /tmp/x/
      ```
      ```swift
      let a = b/c/ Sources/None
      ```
      """
    let existing: Set = ["LICENSE", "Sources/", "Sources/M/", "Sources/M/A.swift", "Sources/M/Queue/"]
    #expect(
      Readme(text).findingsOnPaths(in: existing).map { "\($0.line) \($0.message.split(separator: " ")[1])" }.sorted()
        == [
          "11 Tests/M,", "1 GONE.md,", "2 Missing/,", "2 Sources/Gone/,", "2 gone.png,", "3 docs/gone.md,", "8 Lost/,",
        ].sorted())
  }
}
