import ProcedureKit
import ProcedureKitDurable
import Synchronization
import Testing

/// The build system of the guide *Dynamic graphs*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct DynamicGraphsBuildGuide {
  /// The text of a file.
  struct Text: GraphKey, Codable {
    typealias Value = String
    var path: String
  }

  /// The declarations in a header, and in the headers that it includes.
  struct Header: GraphKey, Codable {
    typealias Value = [String]
    var path: String
  }

  /// The object code of a source file.
  struct Object: GraphKey, Codable {
    typealias Value = String
    var source: String
  }

  private static let old = [
    "main.c": "#include \"common.h\"\nmain", "tool.c": "#include \"tool.h\"\ntool",
    "common.h": "#include \"types.h\"\ncommon", "types.h": "// Types\nint", "tool.h": "#include \"types.h\"\nhammer",
  ]

  /// The files, and what was compiled.
  private final class Disk: Sendable {
    let files: Mutex<[String: String]>
    let compiled = Names()

    init(_ files: [String: String]) { self.files = Mutex(files) }
  }

  private let disk = Disk(old)

  private var build: ProcedureGraph<[String], String> {
    let disk = disk
    @Sendable func read(_ path: String) async throws -> String {
      guard let text = disk.files.withLock({ $0[path] }) else { throw Problem(text: "\(path) does not exist") }
      return text
    }
    @Sendable func compile(_ text: String, with declarations: [String]) async throws -> String {
      let code = text.split(separator: "\n").last.map(String.init) ?? ""
      disk.compiled.add(code)
      return "\(code)(\(declarations.joined(separator: " ")))"
    }
    let build = ProcedureGraph("build") { (g, sources: Node<[String]>) in
      g.values(for: Text.self, isVolatile: true) { text, _ in try await read(text.path) }
      g.values(for: Header.self) { header, context in
        let text = try await context.value(of: Text(path: header.path))
        var all = declarations(in: text)
        for path in includes(in: text) { all += try await context.value(of: Header(path: path)) }
        return all
      }
      g.values(for: Object.self) { object, context in
        let text = try await context.value(of: Text(path: object.source))
        var all: [String] = []
        for path in includes(in: text) { all += try await context.value(of: Header(path: path)) }
        return try await compile(text, with: all)
      }
      let objects = g.map("objects", sources) { source in
        try await ProcedureContext.value(of: Object(source: source))
      }
      return g.add("link", from: objects) { objects in objects.joined(separator: " + ") }
    }
    return build
  }

  @Test("The headers are found during the build, each of them once")
  func discovery() async throws {
    let (queue, build) = (ProcedureQueue("build", maxConcurrentProcedures: 2), build)
    let program = try await queue.run(build, input: ["main.c", "tool.c"])
    #expect(program == "main(common int) + tool(hammer int)")
    disk.files.withLock { $0["types.h"] = "#include \"common.h\"\nint" }
    let error = await #expect(throws: GraphKeyError.self) { try await queue.run(build, input: ["main.c"]) }
    #expect(error?.keys.map { ($0 as? Header)?.path } == ["types.h", "common.h", "types.h"])
  }

  @Test("With a journal, the build compiles only what a change affects, and ends early if a header declares the same")
  func incremental() async throws {
    let folder = try TemporaryFolder()
    let (queue, path) = (ProcedureQueue("build", maxConcurrentProcedures: 2), folder.file("build.journal"))

    let journal = try FileJournal(path)
    let program = try await queue.run(build.durable(in: journal), input: ["main.c", "tool.c"])
    #expect(program == "main(common int) + tool(hammer int)")
    #expect(disk.compiled.take() == ["main", "tool"])

    // (the header that is changed, its new text, what is compiled, the program)
    let changes = [
      ("types.h", "// Types of all programs\nint", [], "main(common int) + tool(hammer int)"),
      ("tool.h", "hammer", ["tool"], "main(common int) + tool(hammer)"),
      ("types.h", "long", ["main"], "main(common long) + tool(hammer)"),
    ]
    for (header, text, compiled, expected) in changes {
      disk.files.withLock { $0[header] = text }
      #expect(try await queue.run(build.durable(in: journal), input: ["main.c", "tool.c"]) == expected)
      #expect(disk.compiled.take() == compiled)
    }
    try await journal.close()
  }
}

private func includes(in text: String) -> [String] {
  text.split(separator: "\n").filter { $0.hasPrefix("#include ") }.map { String($0.dropFirst(10).dropLast()) }
}

private func declarations(in text: String) -> [String] {
  text.split(separator: "\n").filter { !$0.hasPrefix("#") && !$0.hasPrefix("//") }.map(String.init)
}
