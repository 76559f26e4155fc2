/// Cuts Swift source into tokens, so that no check mistakes a comment or a string for code.
///
/// It knows nested comments, raw and multi-line strings with their interpolations, and regular expressions; everything
/// else is words, numbers and single characters.
struct Lexer {
  private let scalars: [Unicode.Scalar]
  private var position = 0
  private var line = 1
  private var tokens: [Token] = []

  private init(_ text: String) {
    scalars = Array(text.unicodeScalars)
  }

  static func tokens(of text: String) -> [Token] {
    var lexer = Lexer(text)
    lexer.readCode(untilParenthesisCloses: false)
    return lexer.tokens
  }

  private mutating func readCode(untilParenthesisCloses: Bool) {
    var depth = 0
    while let scalar = peek() {
      switch scalar {
      case "\n": advance()
      case " ", "\t", "\r": advance()
      case "/" where peek(1) == "/": readLineComment()
      case "/" where peek(1) == "*": readBlockComment()
      case "/" where closingSlash() != nil: readRegex()
      case "\"": readString(pounds: 0)
      case "#": readPound()
      case "`": readQuotedName()
      case "-" where peek(1) == ">": emit(.symbol, length: 2)
      case "0"..."9": readNumber()
      case _ where scalar.isPartOfName: readWord()
      default:
        if scalar == "(" { depth += 1 }
        if scalar == ")" { depth -= 1 }
        emit(.symbol, length: 1)
        if untilParenthesisCloses && depth == 0 { return }
      }
    }
  }
}

// MARK: - Words, numbers, comments

extension Lexer {
  private mutating func readWord() {
    emit(.word, length: scalars[position...].prefix { $0.isPartOfName }.count)
  }

  private mutating func readQuotedName() {
    let length = scalars[(position + 1)...].prefix { $0 != "`" && $0 != "\n" }.count
    append(.quotedWord, from: position + 1, to: position + 1 + length, line: line)
    advance(length + 2)
  }

  private mutating func readNumber() {
    var end = position
    while end < scalars.count {
      let isFraction = scalars[end] == "." && end + 1 < scalars.count && scalars[end + 1].isDigit
      guard scalars[end].isPartOfName || isFraction else { break }
      end += 1
    }
    emit(.number, length: end - position)
  }

  private mutating func readLineComment() {
    let length = scalars[position...].prefix { $0 != "\n" }.count
    emit(peek(2) == "/" && peek(3) != "/" ? .documentation : .comment, length: length)
  }

  private mutating func readBlockComment() {
    let start = position
    let firstLine = line
    var depth = 0
    repeat {
      if peek() == "/" && peek(1) == "*" {
        depth += 1
        advance(2)
      } else if peek() == "*" && peek(1) == "/" {
        depth -= 1
        advance(2)
      } else {
        advance()
      }
    } while depth > 0 && position < scalars.count
    let documents = scalars[start...].starts(with: "/**".unicodeScalars) && position - start > 4
    append(documents ? .documentation : .comment, from: start, to: position, line: firstLine)
  }
}

// MARK: - Literals

extension Lexer {
  /// A raw string or an extended regular expression, or just the sign (`#if`, `#filePath`).
  private mutating func readPound() {
    let pounds = scalars[position...].prefix { $0 == "#" }.count
    switch peek(pounds) {
    case "\"":
      advance(pounds)
      readString(pounds: pounds)
    case "/":
      let start = position
      let firstLine = line
      advance(pounds + 1)
      while position < scalars.count && !isAt("/", pounds: pounds) { advance() }
      advance(1 + pounds)
      append(.string, from: start, to: position, line: firstLine)
    default:
      emit(.symbol, length: 1)
    }
  }

  private mutating func readString(pounds: Int) {
    let index = tokens.count
    let firstLine = line
    let isMultiline = peek(1) == "\"" && peek(2) == "\""
    let delimiter = isMultiline ? "\"\"\"" : "\""
    advance(delimiter.unicodeScalars.count)
    var text = String.UnicodeScalarView()
    while position < scalars.count && !isAt(delimiter, pounds: pounds) {
      if !isMultiline && peek() == "\n" { break }
      if !isAt("\\", pounds: pounds) {
        text.append(scalars[position])
        advance()
      } else if peek(1 + pounds) == "(" {
        advance(1 + pounds)
        readCode(untilParenthesisCloses: true)
      } else {
        text.append(contentsOf: scalars[position..<min(position + pounds + 2, scalars.count)])
        advance(pounds + 2)
      }
    }
    advance(delimiter.unicodeScalars.count + pounds)
    tokens.insert(Token(kind: .string, text: String(text), line: firstLine, lastLine: line), at: index)
  }

  private mutating func readRegex() {
    guard let end = closingSlash() else { return }
    emit(.string, length: end + 1 - position)
  }

  /// Where the regular expression ends that begins here, or `nil` when this slash divides.
  private func closingSlash() -> Int? {
    if let previous = tokens.last(where: { !$0.isComment }) {
      let isOperand = previous.kind != .symbol || [")", "]", "}", "."].contains(previous.text)
      guard !isOperand || ["return", "in", "case", "try", "await"].contains(previous.text) else { return nil }
    }
    guard let next = peek(1), ![" ", "\t", "\n", ")", ",", "="].contains(next) else { return nil }
    var index = position + 1
    while index < scalars.count && scalars[index] != "\n" {
      if scalars[index] == "/" { return index }
      index += scalars[index] == "\\" ? 2 : 1
    }
    return nil
  }

  private func isAt(_ delimiter: String, pounds: Int) -> Bool {
    guard scalars[position...].starts(with: delimiter.unicodeScalars) else { return false }
    let after = position + delimiter.unicodeScalars.count
    return after + pounds <= scalars.count && scalars[after..<(after + pounds)].allSatisfy { $0 == "#" }
  }
}

// MARK: - Position

extension Lexer {
  private func peek(_ offset: Int = 0) -> Unicode.Scalar? {
    position + offset < scalars.count ? scalars[position + offset] : nil
  }

  private mutating func advance(_ count: Int = 1) {
    let end = min(position + count, scalars.count)
    while position < end {
      if scalars[position] == "\n" { line += 1 }
      position += 1
    }
  }

  private mutating func emit(_ kind: Token.Kind, length: Int) {
    append(kind, from: position, to: position + length, line: line)
    advance(length)
  }

  private mutating func append(_ kind: Token.Kind, from start: Int, to end: Int, line firstLine: Int) {
    let text = String(String.UnicodeScalarView(scalars[start..<min(end, scalars.count)]))
    tokens.append(Token(kind: kind, text: text, line: firstLine, lastLine: line))
  }
}

extension Unicode.Scalar {
  fileprivate var isDigit: Bool { ("0"..."9").contains(self) }

  fileprivate var isPartOfName: Bool {
    properties.isAlphabetic || isDigit || self == "_" || self == "$" || value > 0x7f
  }
}
