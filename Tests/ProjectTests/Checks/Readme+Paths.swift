extension Readme {
  /// The links and paths that lead nowhere; folders among the existing paths end in a slash.
  ///
  /// Looks at links that are not addresses; at whatever begins with a folder of the package, `Sources/…`; and at code and
  /// words of unlabelled blocks that end in a slash, `Queue/`, which may be a folder anywhere.
  func findingsOnPaths(in paths: Set<String>) -> [Finding] {
    var named: [(line: Int, path: String)] = []
    for (line, text) in markdown.prose {
      named += links(in: text).map { (line, $0) }
    }
    for (line, text) in markdown.codeSpans {
      named += self.paths(in: text).map { (line, $0) }
    }
    for block in markdown.blocks where block.language != "swift" {
      for (offset, text) in block.lines.enumerated() {
        let found = self.paths(in: text).filter { block.language.isEmpty || $0.isUnderTopLevel }
        named += found.map { (block.line + 1 + offset, $0) }
      }
    }
    return named.filter { !exists($0.path, in: paths) }.map {
      finding($0.line, "names \($0.path), which does not exist")
    }
  }

  private func exists(_ path: String, in paths: Set<String>) -> Bool {
    if paths.contains(path) || paths.contains(path + "/") { return true }
    return path.hasSuffix("/") && !path.isUnderTopLevel && paths.contains { $0.hasSuffix("/" + path) }
  }

  private func paths(in text: Substring) -> [String] {
    text.split { $0.isWhitespace || "`()[],:;|\"'".contains($0) }.map { String($0.trimmingEnd(of: ".…*")) }
      .filter { path in
        path.isUnderTopLevel || (path.hasSuffix("/") && path.first?.isLetter == true && !path.contains("//"))
      }
  }

  /// The targets of Markdown's and HTML's links that are files of the package, without their anchors.
  private func links(in text: Substring) -> [String] {
    var targets: [Substring] = []
    for (opening, closing) in [("](", ")"), ("src=\"", "\""), ("href=\"", "\"")] {
      targets += text.split(separator: opening).dropFirst(text.hasPrefix(opening) ? 0 : 1)
        .compactMap { $0.split(separator: closing, omittingEmptySubsequences: false).first }
    }
    if text.hasPrefix("["), let definition = text.split(separator: "]: ", maxSplits: 1).dropFirst().first {
      targets.append(definition)
    }
    return targets.compactMap {
      $0.split(separator: " ").first?.split(separator: "#", omittingEmptySubsequences: false).first
    }
    .filter { !$0.isEmpty && !$0.contains("://") && !$0.hasPrefix("mailto:") }.map(String.init)
  }
}

extension String {
  fileprivate var isUnderTopLevel: Bool {
    ["Sources/", "Tests/", "Examples/", ".ci/"].contains { hasPrefix($0) }
  }
}

extension Substring {
  fileprivate func trimmingEnd(of characters: String) -> Substring {
    var text = self
    while let last = text.last, characters.contains(last) { text.removeLast() }
    return text
  }
}
