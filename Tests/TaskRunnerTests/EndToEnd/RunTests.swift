import Foundation
import ProcedureKit
import ProcedureKitProcess
import Testing

@testable import taskrunner

@Suite(.timeLimit(.minutes(10))) struct RunTests {
  private static let build = """
    {"tasks": [
      {"name": "link", "command": "cat build/a.o build/b.o > build/program", "inputs": ["build/a.o", "build/b.o"],
       "outputs": ["build/program"]},
      {"name": "a", "command": "tr a-z A-Z < a.txt > build/a.o", "inputs": ["a.txt"], "outputs": ["build/a.o"]},
      {"name": "b", "command": ["cp", "b.txt", "build/b.o"], "inputs": ["b.txt"], "outputs": ["build/b.o"]},
      {"name": "check", "command": "grep -q MEW build/program", "inputs": ["build/program"]},
      {"name": "always", "command": "echo x >> count"}
    ]}
    """

  private func built() async throws -> Sandbox {
    let sandbox = try Sandbox(Self.build)
    try sandbox.write("mew\n", to: "a.txt")
    try sandbox.write("purr\n", to: "b.txt")
    let first = try await sandbox.run("-j", "2")
    #expect(first.status == .exited(0) && first.errorText == "", "\(first.errorText)")
    #expect(first.text.contains("5 done, 0 up to date in "))
    return sandbox
  }

  @Test("Tasks run after the tasks that make their inputs, and outputs that are up to date by content are reused")
  func reuse() async throws {
    let sandbox = try await built()
    #expect(sandbox.text("build/program") == "MEW\npurr\n")
    #expect(try await sandbox.run().text.contains("1 done, 4 up to date in "))
    try sandbox.write("mew\n", to: "a.txt")
    #expect(try await sandbox.run().text.contains("1 done, 4 up to date in "))
    try sandbox.write("growl\n", to: "b.txt")
    #expect(try await sandbox.run().text.contains("4 done, 1 up to date in "))
    #expect(sandbox.text("build/program") == "MEW\ngrowl\n")
    // The result is the same, so the check is not run again.
    try sandbox.remove("build/program")
    #expect(try await sandbox.run().text.contains("2 done, 3 up to date in "))
    try sandbox.write("changed by hand", to: "build/b.o")
    #expect(try await sandbox.run().text.contains("2 done, 3 up to date in "))
    try sandbox.write(Self.build.replacing("A-Z <", with: "A-Z  <"), to: "tasks.json")
    #expect(try await sandbox.run().text.contains("2 done, 3 up to date in "))
    #expect(sandbox.text("count") == String(repeating: "x\n", count: 7))
  }

  @Test("A run stores how long tasks took, and a task that took long in an earlier run starts before shorter ones")
  func longestFirst() async throws {
    // If "long" were not among the first two tasks, the others would wait for it in vain.
    let short = #"{"name": "%", "command": "until [ -e long.started ]; do sed -n 1p tasks.json; done", "timeout": 60}"#
    let long = #"{"name": "long", "command": "touch long.started"}"#
    let sandbox = try Sandbox(
      "[\((0..<3).map { short.replacing("%", with: "\($0)") }.joined(separator: ",\n")),\n\(long)]")
    let file = try TaskFile(sandbox.file("tasks.json"))
    #expect(try await sandbox.run("tasks.json", "long").status == .exited(0))
    let learned = TaskRecords(of: file)
    #expect(learned.duration(of: "long") != nil && learned.duration(of: "0") == nil)
    try learned.open()
    try learned.write(.seconds(100), of: "long")
    for name: SystemText in ["0", "1", "2"] { try learned.write(.seconds(1), of: name) }
    try sandbox.remove("long.started")
    let run = try await sandbox.run("-j", "2")
    #expect(run.status == .exited(0), "\(run.errorText)")
  }

  @Test(
    "A dry run lists the tasks that would run, and runs and writes nothing; named tasks run with their dependencies")
  func dryRun() async throws {
    let sandbox = try await built()
    try sandbox.write("growl\n", to: "b.txt")
    let dry = try await sandbox.run("--dry-run")
    #expect(dry.text == "link\nb\ncheck\nalways\n4 to run, 1 up to date\n")
    #expect(try await sandbox.run("tasks.json", "b").text.contains("1 done, 0 up to date in "))
    #expect(try await sandbox.run("tasks.json", "check").text.contains("2 done, 2 up to date in "))
    #expect(sandbox.text("count") == "x\n")
    let empty = try Sandbox(Self.build)
    try empty.write("", to: "a.txt")
    try empty.write("", to: "b.txt")
    #expect(try await empty.run("-n").text.hasSuffix("5 to run, 0 up to date\n"))
    #expect(!empty.exists(".tasks.json.records"))
  }

  @Test("The first failure stops the run with the output and status of its command")
  func failure() async throws {
    let sandbox = try Sandbox(
      """
      [{"name": "bad", "command": "echo one; echo two >&2; exit 7"}, {"name": "next", "command": "touch next", "needs": ["bad"]},
       {"name": "other", "command": "touch other"}]
      """)
    let run = try await sandbox.run("-j", "1")
    #expect(run.status == .exited(7) && run.errorText.hasPrefix("taskrunner: bad: exit status 7\n"))
    #expect(run.errorText.contains("one\n") && run.errorText.contains("two\n"))
    #expect(!sandbox.exists("next") && !sandbox.exists("other"))
    let kept = try await sandbox.run("-j", "1", "--keep-going")
    #expect(kept.status == .exited(7) && kept.text.contains("1 done, 0 up to date, 1 failed, 1 not done"))
    #expect(!sandbox.exists("next") && sandbox.exists("other"))
  }

  @Test("The output of a task that succeeds is printed only with --verbose")
  func verbose() async throws {
    let sandbox = try Sandbox(
      #"[{"name": "loud", "command": "echo first; echo second >&2; printf third"}, {"name": "quiet", "command": "true", "needs": ["loud"]}]"#
    )
    for option: SystemText in ["-v", "--verbose"] {
      let lines = try await sandbox.run(option).text.split(separator: "\n")
      #expect(lines.count == 6 && lines[0].hasPrefix("[1/2] loud") && lines[1...3] == ["first", "second", "third"])
      #expect(lines[4].hasPrefix("[2/2] quiet"), "\(lines)")
    }
    #expect(try await !sandbox.run().text.contains("first"))
  }

  #if os(Linux)
    @Test("A failure is reported once, on a terminal and elsewhere, even with --verbose", arguments: [true, false])
    func once(onTerminal: Bool) async throws {
      let sandbox = try Sandbox(#"[{"name": "bad", "command": "echo why; exit 7"}]"#)
      var (terminal, child): (Int32, Int32) = (-1, -1)
      try #require(openpty(&terminal, &child, nil, nil, nil) == 0)
      // The child's open side keeps the output after the runner has closed its own side.
      defer { for side in [terminal, child] { close(side) } }
      for side in [terminal, child] { _ = fcntl(side, F_SETFD, FD_CLOEXEC) }
      let name = "/proc/\(getpid())/fd/\(child)"
      let output = onTerminal ? name : sandbox.file("printed").description
      let line = "exec '\(Sandbox.executable)' --verbose tasks.json > '\(output)' 2>&1"
      var process = ProcessProcedure("sh")
      process.acceptsStatus = { _ in true }
      var request = ProcessRequest.shell(SystemText(line), workingDirectory: SystemText(sandbox.path))
      request.environment = ProcessRequest.inheritedEnvironment.merging(["TERM": "xterm"]) { $1 }
      #expect(try await process(request).status == .exited(7))
      var printed = sandbox.text("printed") ?? ""
      if onTerminal {
        // One `read` can return a part of the output, even though the runner has ended, so the test reads up to a mark of its own.
        let mark = "end of output"
        #expect(write(child, mark, mark.utf8.count) == mark.utf8.count)
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while !printed.hasSuffix(mark) {
          let count = read(terminal, &bytes, bytes.count)
          try #require(count > 0)
          printed += String(decoding: bytes.prefix(count), as: UTF8.self)
        }
      }
      #expect(
        printed.split(separator: "status 7").count == 2 && printed.split(separator: "why").count == 2, "\(printed)")
    }
  #endif

  @Test(
    "The exit status and the message give the reason a task failed",
    arguments: [
      ("\"command\": [\"no-such-program-anywhere\"]", 127, "it was not found"),
      ("\"command\": [\"/etc/passwd\"]", 126, "does not have permission to execute"),
      ("\"command\": [\"./tasks.json\"]", 126, "does not have permission to execute"),
      ("\"command\": \"kill -9 $$\"", 137, "signal 9"),
      ("\"command\": \"exec sleep 100\", \"timeout\": 0.05", 124, "timed out after 0.05 s"),
      ("\"command\": \"true\", \"inputs\": [\"none\"]", 1, "none is missing"),
      ("\"command\": \"true\", \"outputs\": [\"none\"]", 1, "did not create its output"),
      ("\"command\": \"true\", \"cwd\": \"none\"", 126, "is not a folder"),
    ])
  func statuses(_ task: String, status: Int32, message: String) async throws {
    let sandbox = try Sandbox("[{\"name\": \"a\", \(task)}]")
    let run = try await sandbox.run()
    #expect(run.status == .exited(status) && run.errorText.contains(message), "\(run.errorText)")
    #expect(try await sandbox.run("-n").text.contains("1 to run") || message.contains("missing"))
  }

  @Test("Variables, folder, retries and exclusion are as specified in the file")
  func keys() async throws {
    let sandbox = try Sandbox(
      """
      [{"name": "env", "command": "echo $KITTEN $(pwd) > ../out", "env": {"KITTEN": "Mia"}, "cwd": "sub"},
       {"name": "again", "command": "echo x >> tries; test $(wc -l < tries) = 3", "retries": 2},
       {"name": "one", "command": "mkdir lock && rmdir lock", "exclusive": "lock"},
       {"name": "two", "command": "mkdir lock && rmdir lock", "exclusive": ["lock", "other"]}]
      """)
    try sandbox.write("", to: "sub/file")
    let run = try await sandbox.run("-j", "4")
    #expect(run.status == .exited(0), "\(run.errorText)")
    #expect(sandbox.text("out") == "Mia \(sandbox.path)/sub\n" && sandbox.text("tries") == "x\nx\nx\n")
    #expect(run.text.contains("again: attempt 1: exit status 1, retrying in "))
  }

  @Test("The graph, the trace and the report name the tasks")
  func pictures() async throws {
    let sandbox = try await built()
    let graph = try await sandbox.run("--graph").text
    #expect(graph.contains("[\"link\"]") && !graph.contains("gather") && !graph.contains("output"))
    let run = try await sandbox.run("--trace", "t.json", "--report", "r.html")
    #expect(run.status == .exited(0) && sandbox.text("r.html")?.contains("always") == true)
    let trace = try JSONSerialization.jsonObject(with: Data((sandbox.text("t.json") ?? "").utf8)) as? [[String: Any]]
    #expect(trace?.contains { $0["name"] as? String == "always" } == true)
    let bad = try await sandbox.run("--trace", "no/such/folder")
    #expect(bad.status == .exited(1) && bad.errorText.contains("no/such/folder"))
  }

  @Test("A file without tasks is finished immediately, in every mode", arguments: [#"{"tasks": []}"#, "[]"])
  func noTasks(_ file: String) async throws {
    let sandbox = try Sandbox(file)
    let run = try await sandbox.run("--report", "-")
    #expect(run.status == .exited(0) && run.text.contains("0 done, 0 up to date"), "\(run.errorText)")
    #expect(try await sandbox.run("-n").text == "0 to run, 0 up to date\n")
    #expect(try await sandbox.run("--graph").status == .exited(0))
  }

  @Test("A malformed file is an error with its location, and status 2")
  func badFile() async throws {
    let run = try await Sandbox("[{\"name\": \"a\"\n}}").run()
    #expect(run.status == .exited(2) && run.errorText.hasPrefix("tasks.json:2:2: expected "))
    #expect(try await Sandbox().run("tasks.json", "b").errorText == "taskrunner: tasks.json has no task \"b\"\n")
  }
}
