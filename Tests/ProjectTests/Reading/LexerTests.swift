import Testing

@Suite struct LexerTests {
  private func code(_ text: String) -> String {
    Lexer.tokens(of: text).filter { !$0.isComment && $0.kind != .string }.map(\.text).joined(separator: " ")
  }

  @Test(
    "Comments and literals are told from code",
    arguments: [
      ("a // b\nc", "a c"), ("a /* b /* c */ d */ e", "a e"), ("a /** b */ c", "a c"), ("\"a\" b", "b"),
      ("\"\\\"a\" b", "b"), ("\"\\\\\" b", "b"), ("#\"a\" b\"# c", "c"), ("##\"a\"# b\"## c", "c"),
      ("\"\"\"\na \" b\n\"\"\" c", "c"), ("#\"\"\"\na \"\"\" b\n\"\"\"# c", "c"),
      ("\"a \\(b + \"c\" + f(\"\\(d)\")) e\" g", "( b + + f ( ( d ) ) ) g"),
      ("#\"\\(a) \\#(b)\"# c", "( b ) c"), ("a / b / c", "a / b / c"), ("x = /a \"b/ + c", "x = + c"),
      ("#/a/b \"/# c", "c"),
      ("f(/) g", "f ( / ) g"), ("`class` a", "class a"), ("1.5 1...2 a.0", "1.5 1 . . . 2 a . 0"), ("a->b", "a -> b"),
      ("#if A\n#endif", "# if A # endif"), ("\"open\na", "a"), ("é_1 $0", "é_1 $0"),
    ])
  func code(_ text: String, expected: String) {
    #expect(code(text) == expected)
  }

  @Test("Tokens know their lines")
  func lines() {
    let tokens = Lexer.tokens(of: "a\n\"\"\"\nb\n\"\"\"\n/*\n*/ c\r\nd")
    #expect(tokens.map(\.line) == [1, 2, 5, 6, 7])
    #expect(tokens.map(\.lastLine) == [1, 4, 6, 6, 7])
  }

  @Test("Documentation is told from other comments")
  func documentation() {
    let kinds = Lexer.tokens(of: "/// a\n// b\n//// c\n/** d */\n/* e */\n/**/").map(\.kind)
    #expect(kinds == [.documentation, .comment, .comment, .documentation, .comment, .comment])
  }
}
