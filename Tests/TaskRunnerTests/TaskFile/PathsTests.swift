import Testing

@testable import taskrunner

@Suite struct PathsTests {
  @Test("Paths become absolute, and have one spelling")
  func absolute() {
    let paths = ["a", "./a", "/x/y/a", "b/../a", "/x//y/./a/", "../../../x/y/a"].map { Paths.absolute($0, in: "/x/y") }
    #expect(Set(paths) == ["/x/y/a"])
    #expect(Paths.absolute("..", in: "/x") == "/")
    #expect(Paths.relative("/x/y/a", to: "/x/y") == "a" && Paths.relative("/x/ya", to: "/x/y") == "/x/ya")
  }

  @Test("The folders around a path, from the innermost to the root")
  func parents() {
    #expect(Paths.parents(of: "/x/y/a") == ["/x/y", "/x", "/"])
    #expect(Paths.parents(of: "/") == [])
  }
}
