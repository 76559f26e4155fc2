import Foundation
import ProcedureKit
import ProcedureKitProcess
import Testing

/// Tests PARITY.md: the environment and the working directory of a program.
@Suite(.timeLimit(.minutes(10))) struct SurroundingsTests {
  private let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    .appendingPathComponent("ProcedureKit-\(UUID().uuidString)")

  private func run(_ request: ProcessRequest) async throws -> String { try await ProcessProcedure()(request).text }

  /// Creates a folder with a program that prints its name, and removes the folder afterwards.
  ///
  /// A shell writes the program, because a file that this process has just written may be open in a child that is starting at the same
  /// time.
  private func withProgram(
    _ name: String, text: String = "#!/bin/sh\necho this is $0", _ body: (String) async throws -> Void
  ) async throws {
    let path = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let write = "printf '%s\\n' \"$TEXT\" > '\(path.path)' && chmod +x '\(path.path)'"
    _ = try await run(.shell(SystemText(write), environment: ["TEXT": SystemText(text), "PATH": "/usr/bin:/bin"]))
    try await body(folder.path)
  }

  @Test("The environment is exactly that of the request, even in another working directory")
  func exactEnvironment() async throws {
    #expect(
      try await run(ProcessRequest("env", environment: ["KITTEN": "Mia"], workingDirectory: "/")) == "KITTEN=Mia\n")
  }

  #if os(Linux) && canImport(Glibc)
    @Test("A program inherits only the standard descriptors, whether or not others are marked")
    func descriptors() async throws {
      let unmarked = try FileHandle(forReadingFrom: URL(filePath: "/etc/passwd"))
      defer { try? unmarked.close() }
      var request = ProcessRequest(
        "readlink", ["/proc/self/fd/\(unmarked.fileDescriptor)"], standardInput: Data("kitten".utf8))
      var procedure = ProcessProcedure()
      procedure.acceptsStatus = { _ in true }
      #expect(try await procedure(request).text == "")
      request = ProcessRequest("ls", ["/proc/self/fd"], standardInput: Data("kitten".utf8))
      // The last one is the folder that is listed.
      #expect(try await run(request) == "0\n1\n2\n3\n")
    }
  #endif

  @Test("A working directory is treated as a path, regardless of its name and CDPATH")
  func oddFolders() async throws {
    try await withProgram("-/program") { (folder) async throws -> Void in
      var request = ProcessRequest("pwd", environment: ["CDPATH": "/", "OLDPWD": "/"], workingDirectory: "\(folder)/-")
      #expect(try await run(request) == "\(folder)/-\n")
      request.workingDirectory = "/tmp/../tmp"
      #expect(try await run(request) == "/tmp\n")
    }
  }

  @Test("A relative program, and a relative folder of PATH, are found in the working directory of the program")
  func relativeProgram() async throws {
    try await withProgram("bin/program") { (folder) async throws -> Void in
      #expect(try await run(ProcessRequest("bin/program", workingDirectory: SystemText(folder))).hasPrefix("this is "))
      for path: SystemText in ["bin", "/no/such/folder:bin", "bin:"] {
        let request = ProcessRequest("program", environment: ["PATH": path], workingDirectory: SystemText(folder))
        #expect(try await run(request).hasPrefix("this is "))
      }
      let here = ProcessRequest("program", environment: ["PATH": ""], workingDirectory: "\(folder)/bin")
      #expect(try await run(here).hasPrefix("this is "))
    }
  }

  @Test("A file that no system can execute is an error with the reason of the system")
  func noProgram() async throws {
    try await withProgram("program", text: "no program") { (folder) async throws -> Void in
      let error = await #expect(throws: ProcessError.self) { try await run(ProcessRequest("\(folder)/program")) }
      #expect(error?.kind == .launchFailed && error?.description.contains("xec format") == true, "\(error!)")
    }
  }

  @Test(
    "If an interpreter does not start, the error names the interpreter, and not the file that refers to it",
    arguments: [
      ("#!/no/such/shell -x", #"the file's interpreter "/no/such/shell" does not exist"#),
      ("#! \t/etc/passwd", #"the file's interpreter "/etc/passwd" is not executable"#),
      ("#!/bin/sh\r\necho kitten\r", #"an interpreter whose name is "/bin/sh" followed by a carriage return"#),
      ("#!relative", #"the file's interpreter "relative" does not exist"#),
      ("#! \necho kitten", "does not name an interpreter"), ("#!\r", "does not name an interpreter"),
    ])
  func interpreters(_ text: String, reason: String) async throws {
    try await withProgram("program", text: text) { (folder) async throws -> Void in
      let error = await #expect(throws: ProcessError.self) {
        try await run(ProcessRequest("./program", workingDirectory: SystemText(folder)))
      }
      #expect(error?.kind == .noInterpreter && error?.description.contains(reason) == true, "\(error!)")
      // This includes the interpreter of the interpreter, because the system starts scripts that name scripts.
      try Data("#!\(folder)/program\n".utf8).write(to: URL(filePath: "\(folder)/outer"))
      _ = try await run(.shell(SystemText("chmod +x '\(folder)/outer'")))
      let outer = await #expect(throws: ProcessError.self) { try await run(ProcessRequest("\(folder)/outer")) }
      #expect(outer?.kind == .noInterpreter || text == "#!relative", "\(outer!)")
    }
  }

  @Test("Names that are not UTF-8 reach the system unchanged: the program, arguments, variables and folders")
  func bytes() async throws {
    let latin = SystemText(bytes: Array("caf".utf8) + [0xe9])
    let folder = SystemText(folder.path)
    let make =
      "mkdir -p \"$1/$2\" && printf '#!/bin/sh\\nprintf %%s \"$0|$PWD|$1|$V\"' > \"$1/$2/$2\" && chmod +x \"$1/$2/$2\""
    _ = try await ProcessProcedure()(ProcessRequest("/bin/sh", ["-c", SystemText(make), "sh", folder, latin]))
    defer { try? FileManager.default.removeItem(at: self.folder) }
    let variables: [SystemText: SystemText] = ["V": latin, "PATH": "\(folder)/\(latin):/usr/bin:/bin"]
    for program in [latin, "./\(latin)", "\(folder)/\(latin)/\(latin)"] as [SystemText] {
      let request = ProcessRequest(program, [latin], environment: variables, workingDirectory: "\(folder)/\(latin)")
      let parts = try await ProcessProcedure()(request).output.split(separator: UInt8(ascii: "|")).map {
        SystemText(bytes: $0)
      }
      #expect(parts.count == 4 && parts.dropFirst() == ["\(folder)/\(latin)", latin, latin])
      #expect(parts.first?.bytes.suffix(latin.bytes.count).elementsEqual(latin.bytes) == true)
    }
    // A literal in a request keeps the bytes, too.
    let echoed = try await ProcessProcedure()(ProcessRequest("/bin/echo", ["-n", "\(latin)"])).output
    let printed = try await ProcessProcedure()(.shell("printf %s \"\(latin)\"")).output
    #expect(echoed.elementsEqual(latin.bytes) && printed.elementsEqual(latin.bytes))
    // Two names that are equal as strings are two variables.
    let names: [SystemText: SystemText] = ["e\u{301}": "1", "\u{e9}": "2"]
    let environment = try await ProcessProcedure()(ProcessRequest("/usr/bin/env", environment: names)).output
    #expect(environment.split(separator: UInt8(ascii: "\n")).count == 2)
  }

  @Test(
    "A NUL character in any text of a request is an error",
    arguments: [
      ProcessRequest("/bin/true\0/x"), ProcessRequest("true\0x"),
      ProcessRequest("true", workingDirectory: "/tmp\0/evil"),
      ProcessRequest("true", ["a\0b"]), ProcessRequest("true", environment: ["A\0": ""]),
      ProcessRequest("true", environment: ["A": "\0"]),
    ])
  func zero(_ request: ProcessRequest) async {
    let error = await #expect(throws: ProcessError.self) { _ = try await run(request) }
    #expect(error?.kind == .invalidText)
  }

  #if os(Linux)
    @Test("A program has its own session without a terminal, so reading from the terminal fails immediately")
    func terminal() async throws {
      // The sixth field is the session. The eighth is the group in the foreground of the terminal, or -1 without a terminal.
      let command = "cut -d' ' -f6,8 < /proc/$$/stat; echo $$; { : < /dev/tty; } 2>&1 && echo there is a terminal"
      var procedure = ProcessProcedure()
      procedure.acceptsStatus = { _ in true }
      let lines = try await procedure(.shell(SystemText(command))).text.split(separator: "\n").map(String.init)
      #expect(lines.count == 3 && lines[0] == "\(lines[1]) -1" && lines[2].contains("/dev/tty"), "\(lines)")
    }
  #endif

  @Test("A large input reaches the program completely, and a program that reads nothing ends nevertheless")
  func largeInput() async throws {
    let input = Data(repeating: 7, count: 5_000_000)
    #expect(try await run(ProcessRequest("wc", ["-c"], standardInput: input)).contains("5000000"))
    #expect(try await run(ProcessRequest("true", standardInput: input)) == "")
  }
}
