import Testing

@testable import ProcedureKitDiagnostics

@Suite struct MarkupTextTests {
  @Test("Text of a user cannot end an element or an attribute")
  func escape() {
    #expect(MarkupText.escape("</script>\"'&\u{0}🐈\n") == "&lt;/script&gt;&quot;&#39;&amp;\u{FFFD}🐈\n")
  }

  @Test("A long text is cut, and stays in one line")
  func shorten() {
    #expect("ab\nc\u{7}d".shortened(to: 9) == "ab c d")
    #expect("abcdef".shortened(to: 4) == "abc…")
    #expect("abcd".shortened(to: 4) == "abcd")
  }
}
