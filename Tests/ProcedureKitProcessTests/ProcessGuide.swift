import Foundation
import ProcedureKit
import ProcedureKitProcess
import Testing

/// The code of the guide of `ProcedureKitProcess`, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct ProcessGuide {
  private let queue = ProcedureQueue("programs", maxConcurrentProcedures: 2)

  @Test("A procedure runs a program")
  func program() async throws {
    do {
      let compile = ProcessProcedure("compile").timeout(.seconds(600))
      let result = try await queue.run(compile, input: ProcessRequest("cc", ["--version"]))
      print(result.text)
    } catch let error as ProcessError {
      // This machine has no compiler.
      #expect(error.kind == .notFound)
    }
  }

  @Test("A procedure reads the output of a program line by line")
  func lines() async throws {
    var lines: [String] = []
    for try await line in queue.lines(of: ProcessProcedure("log"), input: .shell("seq 1 3; echo done >&2")) {
      lines.append(line.source == .error ? "! \(line.text)" : line.text)
    }
    #expect(lines.sorted() == ["! done", "1", "2", "3"])
  }

  @Test("The failure of a program is an error with its last words")
  func failure() async throws {
    let build = ProcessProcedure().named("build")
    do {
      _ = try await queue.run(build, input: .shell("echo half; echo 'no space left' >&2; exit 3"))
    } catch let error as ProcessError where error.kind == .uncleanExit {
      print(error)  // the program "/bin/sh" of "build" (#7) ended with exit status 3 (process 4711): no space left
      print(error.result?.text ?? "", error.result?.errorText ?? "")
    }
    let error = await #expect(throws: ProcessError.self) {
      try await queue.run(build, input: .shell("echo so >&2; exit 3"))
    }
    let id = error?.procedure?.id.description ?? ""
    let start = "the program \"/bin/sh\" of \"build\" (\(id)) ended with exit status 3 (process "
    #expect(
      error?.description.hasPrefix(start) == true && error?.description.hasSuffix("): so") == true,
      "\(String(describing: error))")
  }

  @Test("A procedure can accept a nonzero exit status")
  func status() async throws {
    var search = ProcessProcedure("search")
    search.acceptsStatus = { $0 == .exited(0) || $0 == .exited(1) }  // 1: nothing was found
    let result = try await queue.run(search, input: .shell("echo a | grep b"))
    #expect(result.status == .exited(1))
  }

  @Test("A queue runs many short programs")
  func manyPrograms() async throws {
    var configuration = ProcedureQueue.Configuration("commands", maxConcurrentProcedures: 8)
    configuration.executor = try EventLoopExecutor.shared
    let queue = ProcedureQueue(configuration)
    let texts = try await queue.map(
      (1...20).map { ProcessRequest("echo", ["\($0)"]) }, with: ProcessProcedure("echo").map(\.text))
    #expect(texts == (1...20).map { "\($0)\n" })
    let folder = "/"
    func list(_ folder: String) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder) }
    let names = try await withTaskExecutorPreference(globalConcurrentExecutor) { try list(folder) }
    #expect(names.contains("usr"))
  }
}
