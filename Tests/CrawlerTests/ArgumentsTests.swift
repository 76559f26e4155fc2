import Foundation
import ProcedureKit
import Testing

@testable import crawler

@Suite struct ArgumentsTests {
  @Test("Options and inputs are accepted with and without an equals sign")
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

  @Test("A path that begins with ~/ is in the home folder, however the option is written")
  func home() throws {
    let home = String(cString: getenv("HOME"))
    for line: [SystemText] in [["--output=~/kit", "~/list"], ["--output", "~/kit", "~/list"]] {
      let arguments = try Arguments(parsing: line)
      #expect(arguments.output == "\(home)/kit" && arguments.inputs == ["\(home)/list"])
    }
  }

  @Test(
    "A mistake is an error that names the option",
    arguments: [
      ([], "nothing to download"), (["--jobs"], "--jobs needs"), (["--jobs", "x", "a"], "--jobs: 'x'"),
      (["--rate=0", "a"], "--rate: '0'"), (["--output=", "a"], "--output"), (["--what", "1"], "unknown option --what"),
    ])
  func mistakes(_ line: [SystemText], _ text: String) {
    #expect { try Arguments(parsing: line) } throws: { "\($0)".contains(text) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct AddressListTests {
  @Test("Files and addresses are read in order, each address once, and mistakes are reported with their location")
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
    #expect { try AddressList(["http://a b/"]) } throws: { "\($0)".contains("'http://a b/' is not an http") }
    #expect { try AddressList(["ftp://a/"]) } throws: { "\($0)".contains("the command line: 'ftp://a/'") }
  }

  @Test("A byte order mark is skipped before the addresses, but nowhere else")
  func byteOrderMark() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "list-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    for text in ["\u{FEFF}http://a/1\n", "\u{FEFF}# kittens\r\nhttp://a/1"] {
      try Data(text.utf8).write(to: file)
      #expect(try AddressList([SystemText(file.path)]).addresses.map(\.absoluteString) == ["http://a/1"])
    }
    try Data("\u{FEFF}\u{FEFF}http://a/1\n".utf8).write(to: file)
    #expect(throws: UsageError.self) { try AddressList([SystemText(file.path)]) }
  }

  @Test("File names are plain, short and unique")
  func names() throws {
    var names = FileNames()
    func name(_ text: String) throws -> String { names.name(for: try #require(URL(string: text))) }
    #expect(try name("http://a:80/b/../c.html?d=e&f") == "a-b-..-c.html-d-e-f")
    #expect(try name("http://a/") == "a")
    #expect(try name("http://A") == "a-2")
    #expect(try name("http://a/-") == "a-3")
    #expect(try name("http://a/\(String(repeating: "x", count: 500))").count == 120)
    #expect(try name("http://a/%F0%9F%90%88").allSatisfy(\.isASCII))
  }

  @Test(
    "An address is encoded as in browsers, and parts that are already encoded are kept",
    arguments: [
      ("http://a/zürich", "http://a/z%C3%BCrich"), ("http://müller.example/", "http://xn--mller-kva.example/"),
      ("http://a/b c|d", "http://a/b%20c%7Cd"), ("http://a/%20b ü", "http://a/%20b%20%C3%BC"),
      ("http://MÜLLER.example:8080/ü?q=ä|ö#ß", "http://xn--mller-kva.example:8080/%C3%BC?q=%C3%A4%7C%C3%B6#%C3%9F"),
      ("http://日本.example/東京", "http://xn--wgv71a.example/%E6%9D%B1%E4%BA%AC"),
      ("http://[::1]/b c", "http://[::1]/b%20c"),
    ])
  func encoded(_ text: String, _ address: String) throws {
    #expect(try AddressList([SystemText(text)]).addresses.map(\.absoluteString) == [address])
  }

  @Test("Hosts are compared without regard to case, the dot of the root, and the default port of the scheme")
  func hosts() throws {
    func host(_ text: String) throws -> String { try #require(URL(string: text)).hostAndPort }
    for text in [
      "http://kitten.example", "http://KITTEN.example./x", "http://Kitten.Example:80/", "https://kitten.example:443",
    ] {
      #expect(try host(text) == "kitten.example")
    }
    #expect(try host("http://kitten.example:443/") == "kitten.example:443")
    #expect(try host("https://kitten.example:8443/") == "kitten.example:8443")
  }

  @Test("Names for twenty thousand addresses with an equal beginning take linear time")
  func manyNames() throws {
    var names = FileNames()
    let beginning = "http://a/" + String(repeating: "x", count: 120)
    let all = try (1...20_000).map { names.name(for: try #require(URL(string: "\(beginning)\($0)"))) }
    #expect(Set(all.map { $0.lowercased() }).count == 20_000)
  }
}
