import Testing

@Suite struct DeclarationReaderTests {
  private func declarations(_ text: String) -> Declarations {
    SourceFile("A.swift", text).declarations
  }

  @Test("Types are found at any depth, with the types around them")
  func types() {
    let found = declarations(
      """
      import struct Foundation.Date
      @MainActor final class A<T>: B where T: C {
        indirect enum D { case e(Int), f }
        class func g() -> any H { struct Local {} }
        class var i: Int { 1 }
      }
      extension A.D { typealias J = Int }
      private actor K {}
      protocol L<M>: AnyObject { associatedtype M }
      """)
    #expect(
      found.filter { $0.kind.namesType }.map { $0.typePath.joined(separator: ".") } == [
        "A", "A.D", "A.Local", "A.D.J", "K", "L",
      ])
    #expect(found.filter(\.isLocal).map(\.name) == ["Local"])
    #expect(found.filter(\.isFilePrivate).map(\.name) == ["K"])
    #expect(found.first { $0.name == "A" }?.genericParameters == ["T"])
  }

  @Test(
    "What only looks like a declaration is none",
    arguments: [
      "let actor = 1; if let actor { }", "guard let actor else { return }", "for actor in list { }", "a.init(b)",
      "a.class",
      "f { let a = 1; switch a { case .b: break } }", "let a: [Int] = .init()",
      "func f(actor: Int, protocol b: Int) {}",
    ])
  func lookalikes(_ text: String) {
    #expect(declarations(text).filter { $0.kind != .let && $0.kind != .func }.map(\.name) == [])
  }

  @Test("Effects are those of the declaration, not those of its parameters or its result")
  func effects() {
    let found = declarations(
      """
      protocol P {
        func a() async throws
        func b(_ c: () async throws -> Void) -> () throws -> Void
        init?(_ d: Int) throws(E)
        var e: Int { get async }
        subscript<T>(f: T) -> Int { mutating get throws }
        static func == <T>(lhs: T, rhs: Self) async -> Bool
        var g: () async -> Void { get set }
      }
      """)
    #expect(found.filter(\.isAsync).map(\.name) == ["a", "e", "=="])
    #expect(found.filter(\.isThrowing).map(\.name) == ["a", "init", "subscript"])
    #expect(found.filter { !$0.genericParameters.isEmpty }.map(\.name) == ["subscript", "=="])
    #expect(found.count == 8)
  }

  @Test("Code knows what it stands in")
  func enclosing() {
    let file = SourceFile("A.swift", "struct A { func f<T>(_ t: T) { x } }\nextension B { var y: Int { z } }")
    let around = ["x", "z"].map { name in
      file.occurrences(of: [name]).flatMap { file.declarations.around(token: $0).map(\.name) }
    }
    #expect(around == [["f", "A"], ["B"]])
  }
}
