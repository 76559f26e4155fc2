import ProcedureKit
import Testing

@Suite struct SystemTextTests {
  private let latin = SystemText(bytes: Array("caf".utf8) + [0xe9])

  @Test("Texts are compared and ordered by their bytes, not as strings")
  func bytes() {
    let (composed, decomposed): (SystemText, SystemText) = ("caf\u{e9}", "cafe\u{301}")
    #expect("caf\u{e9}" == "cafe\u{301}" && composed != decomposed)
    #expect(Set([composed, decomposed, latin]).count == 3)
    #expect([latin, composed, decomposed].sorted() == [decomposed, composed, latin])
  }

  @Test("An interpolation keeps the bytes of the texts in it")
  func interpolation() {
    let path: SystemText = "/\(latin)/\(7).ppm"
    #expect(path.bytes == Array("/caf".utf8) + [0xe9] + Array("/7.ppm".utf8))
  }

  @Test("The description shows control characters and bytes that are not UTF-8 in hexadecimal")
  func description() {
    #expect(latin.description == "caf\\xe9" && latin.string == nil)
    let broken = SystemText(bytes: [0xc3, 0x28, 0xe2, 0x82, 0xff, 0x0a, 0xc3, 0xa9])
    #expect(broken.description == "\\xc3(\\xe2\\x82\\xff\\x0a\u{e9}")
    let hostile: SystemText = "a\u{1b}[2J\u{9b}\u{202e}\u{2028}b👩‍👧"
    #expect(hostile.description == "a\\x1b[2J\\xc2\\x9b\\xe2\\x80\\xae\\xe2\\x80\\xa8b👩‍👧")
    #expect(("\u{e9}" as SystemText).description == "\u{e9}" && ("" as SystemText).isEmpty)
  }

  @Test("The parent folder of a path is found, up to the root")
  func parentFolder() {
    let folders = sequence(first: "/x/\(latin)/a" as SystemText) { $0.parentFolder }
    #expect(Array(folders) == ["/x/\(latin)/a", "/x/\(latin)", "/x", "/"])
    #expect(("x/y" as SystemText).parentFolder == "x")
    for path: SystemText in ["", "a", "/"] { #expect(path.parentFolder == nil) }
  }
}
