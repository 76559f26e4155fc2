extension Substring {
  var isBlank: Bool { allSatisfy(\.isWhitespace) }

  /// The text without the white space around it.
  var trimmed: Substring {
    var text = drop(while: \.isWhitespace)
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}

extension Collection where Element == Substring {
  /// The lines without the indentation that all of them share, and without trailing white space.
  var withoutCommonIndentation: [Substring] {
    let common = filter { !$0.isBlank }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
    return map { line in
      var text = line.dropFirst(line.isBlank ? line.count : common)
      while text.last?.isWhitespace == true { text.removeLast() }
      return text
    }
  }
}
