/// A piece of Swift source, as much as the project's checks need to know of it.
struct Token: Equatable, Sendable {
  enum Kind: Sendable {
    /// A name or a keyword.
    case word
    /// A name that stood between backticks, without them.
    case quotedWord
    case number
    /// A literal's text; what it interpolates follows as tokens of its own, in parentheses.
    case string
    /// An ordinary comment, delimiters included.
    case comment
    /// A comment that documents what follows, delimiters included.
    case documentation
    /// `->`, or one character of punctuation or of an operator.
    case symbol
  }

  let kind: Kind
  let text: String
  /// The line on which it begins, counted from one.
  let line: Int
  /// The line on which it ends.
  let lastLine: Int

  var isWord: Bool { kind == .word || kind == .quotedWord }

  var isComment: Bool { kind == .comment || kind == .documentation }

  /// Whether it is this keyword or punctuation, and not a literal that reads like it.
  func matches(_ code: String) -> Bool {
    (kind == .word || kind == .symbol) && text == code
  }
}
