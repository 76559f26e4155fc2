import Foundation
import ProcedureKit
import ProcedureKitProcess
import Testing

/// PARITY.md: the environment and the working directory of a program.
@Suite(.timeLimit(.minutes(10))) struct SurroundingsTests {
  private let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    .appendingPathComponent("ProcedureKit-\(UUID().uuidString)")

  private func run(_ request: ProcessRequest) async throws -> String { try await ProcessProcedure()(request).text }

  /// Makes a folder with a program that says its name, and removes the folder at the end.
  ///
  /// A shell writes the program: a file that this process has just written may be open in a child that starts at the same time.
  private func withProgram(
    _ name: String, text: String = "#!/bin/sh\necho this is $0", _ body: (String) async throws -> Void
  ) async throws {
    let path = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let write = "printf '%s\\n' \"$TEXT\" > '\(path.path)' && chmod +x '\(path.path)'"
    _ = try await run(.shell(write, environment: ["TEXT": text, "PATH": "/usr/bin:/bin"]))
    try await body(folder.path)
  }

  @Test("The environment is exactly that of the request, also in another working directory")
  func exactEnvironment() async throws {
    #expect(
      try await run(ProcessRequest("env", environment: ["KITTEN": "Mia"], workingDirectory: "/")) == "KITTEN=Mia\n")
  }

  #if os(Linux) && canImport(Glibc)
    @Test("A program inherits the standard descriptors only, be others marked or not")
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

  @Test("A working directory is a path, whatever its name and CDPATH are")
  func oddFolders() async throws {
    try await withProgram("-/program") { (folder) async throws -> Void in
      var request = ProcessRequest("pwd", environment: ["CDPATH": "/", "OLDPWD": "/"], workingDirectory: folder + "/-")
      #expect(try await run(request) == "\(folder)/-\n")
      request.workingDirectory = "/tmp/../tmp"
      #expect(try await run(request) == "/tmp\n")
    }
  }

  @Test("A relative program, and a relative folder of PATH, are found in the working directory of the program")
  func relativeProgram() async throws {
    try await withProgram("bin/program") { (folder) async throws -> Void in
      #expect(try await run(ProcessRequest("bin/program", workingDirectory: folder)).hasPrefix("this is "))
      for path in ["bin", "/no/such/folder:bin", "bin:"] {
        let request = ProcessRequest("program", environment: ["PATH": path], workingDirectory: folder)
        #expect(try await run(request).hasPrefix("this is "))
      }
      let here = ProcessRequest("program", environment: ["PATH": ""], workingDirectory: folder + "/bin")
      #expect(try await run(here).hasPrefix("this is "))
    }
  }

  @Test("A file that no system can execute is an error with the reason of the system")
  func noProgram() async throws {
    try await withProgram("program", text: "no program") { (folder) async throws -> Void in
      let error = await #expect(throws: ProcessError.self) { try await run(ProcessRequest(folder + "/program")) }
      #expect(error?.kind == .launchFailed && error?.description.contains("xec format") == true, "\(error!)")
    }
  }

  @Test("A large input reaches the program whole, and a program that reads nothing ends all the same")
  func largeInput() async throws {
    let input = Data(repeating: 7, count: 5_000_000)
    #expect(try await run(ProcessRequest("wc", ["-c"], standardInput: input)).contains("5000000"))
    #expect(try await run(ProcessRequest("true", standardInput: input)) == "")
  }
}
