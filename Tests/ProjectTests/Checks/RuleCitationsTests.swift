import Testing

@Suite struct RuleCitationsTests {
  @Test("Rules are found as words in titles, not in comments, other words or disabled tests")
  func mistakes() {
    let text = #"""
      // @Test("A1") func a() {}
      @Test("A2: something") func b() {}
      @Test("Something (A3, A4)", arguments: ["A5"]) func c() {}
      @Test(.tags(.slow)) func `A6 holds`() {}
      @Test("A7", .disabled("later")) func d() {}
      @Suite("A8") struct S { @Test func e() {} }
      @Test("A11 and A10") func f() {}
      """#
    let rules = (1...10).map { "A\($0)" }
    #expect(RuleCitations.uncited(rules, in: [SourceFile("T.swift", text)]) == ["A1", "A5", "A7", "A8", "A9"])
  }
}
