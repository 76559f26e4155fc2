extension Markdown {
  func finding(_ line: Int, _ message: String) -> Finding {
    Finding(path: path, line: line, message: message)
  }

  /// The blocks without an end.
  var findingsOnFences: [Finding] {
    blocks.filter { !$0.isClosed }.map { finding($0.line, "opens a block that nothing closes") }
  }
}
