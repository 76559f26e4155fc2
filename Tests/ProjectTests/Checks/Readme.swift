/// What the README promises, held against what the package has.
struct Readme {
  let markdown: Markdown
  let maximumLines = 150
  let commands = ["swift run kitten", "swift test"]

  init(_ text: String) {
    markdown = Markdown("README.md", text)
  }

  func finding(_ line: Int, _ message: String) -> Finding {
    markdown.finding(line, message)
  }

  /// Its length, its fences, and the commands that it has to name.
  var findingsOnForm: [Finding] {
    let missing = commands.filter { !markdown.names(command: $0) }
      .map { finding(1, "does not name the command `\($0)`") }
    let long =
      markdown.lines.count < maximumLines
      ? []
      : [finding(maximumLines, "has \(markdown.lines.count) lines, not fewer than \(maximumLines)")]
    return missing + markdown.findingsOnFences + long
  }
}
