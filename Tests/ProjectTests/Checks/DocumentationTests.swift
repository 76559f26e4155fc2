import Testing

@Suite struct DocumentationTests {
  @Test("Public declarations are documented, with what they throw and what cancelling them does")
  func sources() {
    Finding.record(Documentation.findings(in: Checkout.files(under: "Sources")))
  }

  private func count(_ text: String) -> Int {
    Documentation.findings(in: [SourceFile("Sources/M/A.swift", text)]).count
  }

  @Test(
    "Gaps are found",
    arguments: [
      "public struct A {}", "/// A.\n\npublic struct A {}", "// A.\npublic struct A {}",
      "/// A.\npublic enum A { case b }",
      "/// A.\n@available(*, deprecated)\npublic protocol A {\n  func b()\n}",
      "struct A { public private(set) var b = 1 }",
      "/// A.\npublic func a() throws {}", "/// A.\npublic func a<T>(_ b: T = {}) throws(E) -> Int where T: B {}",
      "/// A.\npublic func a() async {}",
      "/// A.\npublic protocol A {\n  /// B.\n  func b() async -> Int\n  /// C.\n  func c()\n}",
      "struct A {\n  /// B.\n  public var b: Int { get throws { 1 } }\n}",
      "struct A {\n  /// B.\n  public var b: [Int] {\n    get async { 1 }\n  }\n}",
      "struct A {\n  /// B.\n  public init?(_ b: Int) throws {}\n}",
      "struct A {\n  /// B.\n  public subscript(_ b: Int) -> Int { get throws { 1 } }\n}",
      "struct A {\n  /// B.\n  public static func < (a: A, b: A) throws -> Bool {}\n}",
    ])
  func gaps(_ source: String) {
    #expect(count(source) == 1)
  }

  @Test(
    "Complete documentation passes, and what is not public needs none",
    arguments: [
      "struct A { var b = 1 }", "/// A.\n@frozen\npublic struct A {}", "/**\n A.\n */\npublic struct A {}",
      "public import B\n@_exported public import C", "enum A { case b }", "public extension A { func b() {} }",
      "/// A.\n///\n/// - Throws: B, and `CancellationError`.\npublic func a() async throws {}",
      "/// A.\npublic func a(_ b: () async throws -> Void) rethrows {}",
      "/// A.\npublic func a() -> () async throws -> Int {}",
      "/// A.\npublic func a() throws(Never) {}", "/// A.\npublic var a: () async throws -> Int { { 1 } }",
      "/// A.\npublic let a = 1\nfunc b() throws {}", "/// A.\npublic var a: Int = b { get async throws }",
      "/// A.\npublic func a() {\n  switch b { case .c: let d = 1 }\n}",
      "/// A.\npublic protocol A {\n  /// B.\n  associatedtype B\n  /// C.\n  var c: B { get }\n}",
      "/// A.\npublic enum A {\n  /// B.\n  case b(c: Int)\n  func c() { switch self { case .b: break } }\n}",
    ])
  func complete(_ source: String) {
    #expect(count(source) == 0)
  }
}
