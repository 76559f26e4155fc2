import ProcedureKit
import Testing

@testable import ProcedureKitDiagnostics

@Suite struct MarkupTextTests {
  @Test("User text cannot end an element or an attribute")
  func escape() {
    #expect(MarkupText.escape("</script>\"'&\u{0}🐈\n") == "&lt;/script&gt;&quot;&#39;&amp;\u{FFFD}🐈\n")
  }

  @Test("A long text is truncated, and stays on one line")
  func shorten() {
    #expect("ab\nc\u{7}d".shortened(to: 9) == "ab c d")
    #expect("abcdef".shortened(to: 4) == "abc…")
    #expect("abcd".shortened(to: 4) == "abcd")
    let accents = ("a" + String(repeating: "\u{301}", count: 1_000_000)).shortened(to: 4)
    #expect(accents.unicodeScalars.count < 100 && accents.hasSuffix("…"))
    #expect("👩🏽‍👩🏿‍👧🏻‍👦🏼\u{202E}a".shortened(to: 9) == "👩🏽‍👩🏿‍👧🏻‍👦🏼a")
  }
}
