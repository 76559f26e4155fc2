import Foundation
import ProcedureKit
import ProcedureKitProcess
import Synchronization
import TestSupport
import Testing

/// Tests PARITY.md: `ProcessProcedure`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ProcessProcedureTests {
  private let queue = ProcedureQueue("programs", maxConcurrentProcedures: 8)

  /// Returns a queue, which may execute its bodies on the thread that waits for programs.
  private func queue(onEventLoop: Bool) throws -> ProcedureQueue {
    guard onEventLoop else { return queue }
    var configuration = ProcedureQueue.Configuration("event loop", maxConcurrentProcedures: 8)
    configuration.executor = try EventLoopExecutor.shared
    return ProcedureQueue(configuration)
  }

  private func run(_ command: String, _ procedure: ProcessProcedure = ProcessProcedure()) async throws -> ProcessResult
  {
    try await queue.run(procedure, input: .shell(SystemText(command)))
  }

  @Test("The result of a program consists of its outputs and its status")
  func result() async throws {
    let result = try await run("echo out; echo err >&2")
    #expect(result.text == "out\n" && result.errorText == "err\n")
    #expect(result.status == .exited(0) && result.processIdentifier > 0 && result.droppedByteCount == 0)
  }

  @Test("The message of a failure ends with the last line of the errors, even if they are redirected to the output")
  func lastLineOfMergedOutput() async throws {
    var request = ProcessRequest.shell("echo half; echo 'no space left' >&2; exit 3")
    request.mergesErrorOutput = true
    let error = await #expect(throws: ProcessError.self) { try await queue.run(ProcessProcedure(), input: request) }
    #expect(error?.description.hasSuffix(": no space left") == true)
  }

  @Test("A name is looked up in PATH, and arguments are passed byte by byte as they are")
  func arguments() async throws {
    let arguments = ["a b", "\"quoted\"", "$HOME", "🐈", "line\nline", ""]
    let result = try await queue.run(
      ProcessProcedure(), input: ProcessRequest("printf", ["%s|"] + arguments.map { SystemText($0) }))
    #expect(result.text == arguments.map { $0 + "|" }.joined())
  }

  @Test("The environment, the working directory and the standard input are those of the request")
  func surroundings() async throws {
    let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path
    var request = ProcessRequest.shell(
      "pwd; echo $KITTEN; cat", environment: ["KITTEN": "Mia"], workingDirectory: SystemText(folder))
    request.standardInput = Data("purr".utf8)
    let result = try await queue.run(ProcessProcedure(), input: request)
    #expect(result.text == "\(folder)\nMia\npurr")
    let inherited = try await run("echo $PATH; cat")
    #expect(inherited.text == "\(ProcessInfo.processInfo.environment["PATH"] ?? "")\n")
  }

  @Test(
    "Invalid requests are errors that name the program, before it is started",
    arguments: [
      (ProcessRequest(""), ProcessError.Kind.noExecutable as ProcessError.Kind?),
      (ProcessRequest("/no/such/program"), .notFound),
      (ProcessRequest("no-such-program-anywhere"), .notFound), (ProcessRequest("/etc/passwd"), .notExecutable),
      (ProcessRequest("/tmp"), .notExecutable), (ProcessRequest("true", environment: [:]), nil),
      (ProcessRequest("true", workingDirectory: "/no/such/folder"), .noWorkingDirectory),
      (ProcessRequest("true", ["a\0b"]), .invalidText), (ProcessRequest("/bin/true\0x"), .invalidText),
      (ProcessRequest("true\0"), .invalidText), (ProcessRequest("true", workingDirectory: "/tmp\0/evil"), .invalidText),
      (ProcessRequest("./true", workingDirectory: "/bin\0"), .invalidText),
      (ProcessRequest("true", environment: ["A\0": ""]), .invalidText),
      (ProcessRequest("true", environment: ["A": "\0"]), .invalidText),
      (ProcessRequest("true", environment: ["PATH": "/bin\0:/evil"]), .invalidText),
      (ProcessRequest("true", environment: ["A=B": ""]), .invalidText),
      (ProcessRequest("true", workingDirectory: "/etc/passwd"), .noWorkingDirectory),
    ])
  func badRequests(_ request: ProcessRequest, _ kind: ProcessError.Kind?) async throws {
    do {
      _ = try await queue.run(ProcessProcedure(), input: request)
      #expect(kind == nil)
    } catch let error as ProcessError {
      #expect(error.kind == kind && error.request == request)
      #expect(request.executable.isEmpty || error.description.contains(request.executable.description))
    }
  }

  @Test(
    "An unclean exit or a signal is an error with the status, the output and the last line, unless the procedure accepts it"
  )
  func uncleanExit() async throws {
    let error = await #expect(throws: ProcessError.self) {
      try await run("echo half; echo 'no space left' >&2; exit 3")
    }
    #expect(error?.kind == .uncleanExit && error?.status == .exited(3) && error?.result?.text == "half\n")
    #expect(error?.description.hasSuffix("no space left") == true)
    let hostile = await #expect(throws: ProcessError.self) {
      try await run("printf 'a\\033[2J\\302\\233b' >&2; exit 3")
    }
    #expect(hostile?.description.hasSuffix("a [2J b") == true)
    let unknown = await #expect(throws: ProcessError.self) {
      try await ProcessProcedure()(ProcessRequest("/no/\u{1b}[2J"))
    }
    #expect(unknown?.description.contains("/no/\\x1b[2J") == true)
    let signal = await #expect(throws: ProcessError.self) { try await run("kill -9 $$") }
    #expect(signal?.status == .signalled(9) && signal?.status?.shellStatus == 137)
    var lenient = ProcessProcedure()
    lenient.acceptsStatus = { $0 == .exited(3) }
    #expect(try await run("exit 3", lenient).status == .exited(3))
  }

  // MARK: Output

  @Test(
    "A hundred megabytes on both outputs neither block the program nor exceed the memory limit",
    arguments: [false, true])
  func muchOutput(onEventLoop: Bool) async throws {
    var procedure = ProcessProcedure()
    procedure.outputLimit = 1 << 20
    let result = try await queue(onEventLoop: onEventLoop).run(
      procedure, input: .shell("head -c 100000000 /dev/zero & head -c 100000000 /dev/zero >&2; wait"))
    #expect(result.output.count == 1 << 20 && result.errorOutput.count == 1 << 20)
    #expect(result.droppedByteCount == 200_000_000 - (2 << 20))
  }

  @Test("Lines are read one by one, including an unterminated last line, and bytes that are not text")
  func lines() async throws {
    let lines = Mutex<[ProcessLine]>([])
    var procedure = ProcessProcedure()
    procedure.onLine = { line in lines.withLock { $0.append(line) } }
    _ = try await run("printf 'a\\r\\n\\nb🐈\\n\\377c'; printf 'e\\nf' >&2", procedure)
    let all = lines.withLock { $0 }
    #expect(all.filter { $0.source == .output }.map(\.text) == ["a", "", "b🐈", "\u{FFFD}c"])
    #expect(all.filter { $0.source == .error }.map(\.text) == ["e", "f"])
  }

  @Test("Errors that are redirected to the output are read in the order of writing, even line by line")
  func merged() async throws {
    var request = ProcessRequest.shell("for i in 1 2 3; do echo out $i; echo err $i >&2; done")
    request.mergesErrorOutput = true
    let lines = ["out 1", "err 1", "out 2", "err 2", "out 3", "err 3"]
    let result = try await queue.run(ProcessProcedure(), input: request)
    #expect(result.text == lines.map { $0 + "\n" }.joined() && result.errorText == "")
    var read: [ProcessLine] = []
    for try await line in queue.lines(of: ProcessProcedure(), input: request) { read.append(line) }
    #expect(read == lines.map { ProcessLine($0) })
  }

  @Test("A sequence of lines starts the program, and throws its error after the last line")
  func sequence() async throws {
    var texts: [String] = []
    await #expect(throws: ProcessError.self) {
      for try await line in queue.lines(of: ProcessProcedure(), input: .shell("seq 1 1000; exit 1")) {
        texts.append(line.text)
      }
    }
    #expect(texts == (1...1_000).map(String.init))
  }

  @Test("A body that iterates over lines releases its slot")
  func lending() async throws {
    let narrow = ProcedureQueue("narrow", maxConcurrentProcedures: 1)
    let count = ProcedureTask("count") {
      var count = 0
      for try await _ in narrow.lines(of: ProcessProcedure(), input: .shell("seq 1 500")) { count += 1 }
      return count
    }
    #expect(try await narrow.run(count) == 500)
  }

  @Test("Leaving the loop ends an endless program, and so does cancelling the iterating task")
  func leaving() async throws {
    for try await line in queue.lines(of: ProcessProcedure(), input: .shell("yes")) {
      #expect(line.text == "y")
      break
    }
    await queue.waitUntilIdle()
    let reader = Task {  // cancelled below
      for try await _ in queue.lines(of: ProcessProcedure(), input: .shell("yes")) {
        withUnsafeCurrentTask { $0?.cancel() }
      }
    }
    await #expect(throws: CancellationError.self) { try await reader.value }
    await queue.waitUntilIdle()
  }

  // MARK: Many

  @Test("Many programs, eight at a time, leave no process or descriptor behind", arguments: [false, true])
  func many(onEventLoop: Bool) async throws {
    _ = try await run("true")
    let queue = try queue(onEventLoop: onEventLoop)
    let before = openFileCount()
    let count = TestDepth.size(1_000)
    let results = try await queue.map(
      (0..<count).map { ProcessRequest.shell("echo \($0)") }, with: ProcessProcedure().map(\.text),
      maxConcurrentElements: 8)
    #expect(results == (0..<count).map { "\($0)\n" })
    // Other tests in the process also have descriptors open for a while.
    try await eventually { openFileCount() <= before + 4 }
  }

  private func openFileCount() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }

  @Test("Requests are equal if the bytes of their strings are equal")
  func spellings() {
    let (one, other): (SystemText, SystemText) = ("caf\u{e9}", "cafe\u{301}")
    let pairs = [
      (ProcessRequest(one), ProcessRequest(other)), (ProcessRequest("a", [one]), ProcessRequest("a", [other])),
      (ProcessRequest("a", environment: [one: ""]), ProcessRequest("a", environment: [other: ""])),
      (ProcessRequest("a", environment: ["A": one]), ProcessRequest("a", environment: ["A": other])),
      (ProcessRequest("a", workingDirectory: one), ProcessRequest("a", workingDirectory: other)),
      (ProcessRequest("a", ["b"]), ProcessRequest("a", workingDirectory: "b")),
    ]
    for (one, other) in pairs {
      #expect(one != other && one == one && Set([one, other, one]).count == 2)
    }
  }
}
