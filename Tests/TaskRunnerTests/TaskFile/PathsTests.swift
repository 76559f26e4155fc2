import ProcedureKit
import Testing

@testable import taskrunner

@Suite struct PathsTests {
  @Test("Paths become absolute, and have one spelling")
  func absolute() {
    let spellings: [SystemText] = ["a", "./a", "/x/y/a", "b/../a", "/x//y/./a/", "../../../x/y/a"]
    #expect(Set(spellings.map { Paths.absolute($0, in: "/x/y") }) == ["/x/y/a"])
    #expect(Paths.absolute("..", in: "/x") == "/")
    #expect(Paths.relative("/x/y/a", to: "/x/y") == "a" && Paths.relative("/x/ya", to: "/x/y") == "/x/ya")
  }

  @Test("A tree of paths finds the task that makes a path, the folders around the path, and its contents")
  func tree() {
    var tree = PathTree()
    #expect(
      tree.add("/o/p", maker: 0) == nil && tree.add("/o/q/r", maker: 1) == nil && tree.add("/o/q/s", maker: 1) == nil)
    #expect(tree.add("/o/p", maker: 2) == 0)
    #expect(tree.makers(of: "/o") == [0, 1, 2] && tree.makers(of: "/o/q") == [1] && tree.makers(of: "/o/p/x/y") == [2])
    #expect(
      tree.makers(of: "/o/q/x").isEmpty && tree.makers(of: "/other").isEmpty && tree.makers(of: "/") == [0, 1, 2])
    #expect(tree.makerAround("/o/p/x/y").map { $0.path == "/o/p" && $0.maker == 2 } == true)
    #expect(tree.makerAround("/o/p") == nil && tree.makerAround("/o/q/x") == nil)
    // The root can also be made.
    _ = tree.add("/", maker: 3)
    #expect(tree.makerAround("/o/q/x").map { $0.path == "/" && $0.maker == 3 } == true)
  }

  @Test("Names that look the same are different if their bytes are")
  func bytes() {
    var tree = PathTree()
    #expect(tree.add("/caf\u{e9}", maker: 0) == nil && tree.add("/cafe\u{301}", maker: 1) == nil)
    let latin = SystemText(bytes: Array("/caf".utf8) + [0xe9])
    #expect(tree.add(latin, maker: 2) == nil)
    #expect(tree.makers(of: "/caf\u{e9}") == [0] && tree.makers(of: latin) == [2])
    #expect(Paths.absolute(latin, in: "/x") == latin && latin.description == "/caf\\xe9")
  }
}
