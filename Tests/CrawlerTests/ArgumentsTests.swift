import Foundation
import ProcedureKit
import Testing

@testable import crawler

@Suite struct ArgumentsTests {
  @Test("Options and inputs are read, with and without an equals sign")
  func options() throws {
    let line = "--jobs 3 --per-host=1 --rate 7 --attempts 2 --timeout 4 --deadline 9 --output out list http://a/ -"
    let arguments = try Arguments(parsing: line.split(separator: " ").map { SystemText($0) })
    #expect(arguments.limits == Limits(jobs: 3, perHost: 1, rate: 7, attempts: 2, timeout: 4, deadline: 9))
    #expect(arguments.inputs == ["list", "http://a/", "-"])
    #expect(arguments.output == "out")
    #expect(arguments.action == .crawl)
    #expect(try Arguments(parsing: ["--demo", "--rate", "2"]).limits.rate == 2)
    #expect(try Arguments(parsing: ["--bad", "1", "--help"].dropFirst(2)).action == .printHelp)
  }

  @Test(
    "A mistake is an error that names the option",
    arguments: [
      ([], "nothing to download"), (["--jobs"], "--jobs needs"), (["--jobs", "x", "a"], "--jobs: 'x'"),
      (["--rate=0", "a"], "--rate: '0'"), (["--output=", "a"], "--output"), (["--what", "1"], "no option --what"),
    ])
  func mistakes(_ line: [SystemText], _ text: String) {
    #expect { try Arguments(parsing: line) } throws: { "\($0)".contains(text) }
  }
}

@Suite struct AddressListTests {
  @Test("Files and addresses are read in order, each address once, and mistakes are told with their place")
  func files() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "list-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data("# kittens\n\n  http://a/1 \r\nhttps://b/2\nhttp://a/1\n".utf8).write(to: file)
    let list = try AddressList(["http://c/", SystemText(file.path)])
    #expect(list.addresses.map(\.absoluteString) == ["http://c/", "http://a/1", "https://b/2"])
    try Data("http://a/1\nkitten\n".utf8).write(to: file)
    #expect { try AddressList([SystemText(file.path)]) } throws: {
      "\($0)".contains("\(file.lastPathComponent):2: 'kitten'")
    }
    try Data("# nothing\n".utf8).write(to: file)
    #expect { try AddressList([SystemText(file.path)]) } throws: { "\($0)".contains("no address") }
    #expect { try AddressList(["http://a/b c"]) } throws: { "\($0)".contains("'http://a/b c' is no http") }
    #expect { try AddressList(["ftp://a/"]) } throws: { "\($0)".contains("the command line: 'ftp://a/'") }
  }

  @Test("Names of files are plain, short and different")
  func names() throws {
    var names = FileNames()
    func name(_ text: String) throws -> String { names.name(for: try #require(URL(string: text))) }
    #expect(try name("http://a:80/b/../c.html?d=e&f") == "a-80-b-..-c.html-d-e-f")
    #expect(try name("http://a/") == "a")
    #expect(try name("http://A") == "A-2")
    #expect(try name("http://a/-") == "a-3")
    #expect(try name("http://a/\(String(repeating: "x", count: 500))").count == 120)
    #expect(try name("http://a/%F0%9F%90%88").allSatisfy(\.isASCII))
  }
}
