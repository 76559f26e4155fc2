import Foundation
import ProcedureKit
import ProcedureKitProcess
import Testing

@testable import taskrunner

/// Tests that file names are bytes, from the task file to the system.
@Suite(.timeLimit(.minutes(10))) struct NamesTests {
  private let latin = SystemText(bytes: Array("caf".utf8) + [0xe9])

  @Test("Two names that are equal as strings are two files, whether as inputs, outputs or tasks")
  func spellings() async throws {
    let sandbox = try Sandbox(
      """
      [{"name": "caf\\u00e9", "command": "cat caf\\u00e9 cafe\\u0301 > out", "inputs": ["caf\\u00e9", "cafe\\u0301"], "outputs": ["out"]},
       {"name": "cafe\\u0301", "command": "cat out > o/e\\u0301", "inputs": ["out"], "outputs": ["o/e\\u0301"]},
       {"name": "c", "command": "cat out > o/\\u00e9", "inputs": ["out"], "outputs": ["o/\\u00e9"], "needs": ["cafe\\u0301"]}]
      """)
    try sandbox.write("1", to: "caf\u{e9}")
    try sandbox.write("2", to: "cafe\u{301}")
    let first = try await sandbox.run()
    #expect(first.status == .exited(0) && first.text.contains("3 done"), "\(first.errorText)")
    #expect(try await sandbox.run().text.contains("0 done, 3 up to date"))
    try sandbox.write("3", to: "cafe\u{301}")
    #expect(try await sandbox.run().text.contains("3 done, 0 up to date"))
    #expect(sandbox.text("out") == "13" && sandbox.text("o/\u{e9}") == "13" && sandbox.text("o/e\u{301}") == "13")
    #expect(try await sandbox.run("tasks.json", "cafe\u{301}").text.contains("0 done, 2 up to date"))
    // A failure is reported with the output of its own task.
    try sandbox.write(
      #"[{"name": "\u00e9", "command": "echo one; exit 1"}, {"name": "e\u0301", "command": "echo two; exit 1"}]"#,
      to: "tasks.json")
    let failed = try await sandbox.run("-j1", "-k")
    #expect(failed.errorText.contains("\u{e9}: exit status 1\none\n"))
    #expect(failed.errorText.utf8.contains("e\u{301}: exit status 1\ntwo\n".utf8))
  }

  @Test("Inputs, outputs, folders, arguments and variables that are not UTF-8 are written as escapes")
  func otherBytes() async throws {
    let sandbox = try Sandbox(
      #"""
      [{"name": "a", "command": ["cp", "caf\udce9", "o\udcff/caf\udce9"], "inputs": ["caf\udce9"], "outputs": ["o\udcff/caf\udce9"]},
       {"name": "b", "command": "printf %s \"$V\" > ../out; printf %s \"$W\" > ../other", "env": {"V": "\udce9"}, "cwd": "o\udcff", "needs": ["a"]}]
      """#)
    try sandbox.write("1", to: latin)
    var variables = ProcessRequest.inheritedEnvironment
    variables["W"] = latin
    let first = try await sandbox.run(environment: variables)
    #expect(first.status == .exited(0) && first.text.contains("2 done"), "\(first.errorText)")
    #expect(sandbox.text(SystemText(bytes: Array("o".utf8) + [0xff, 0x2f] + latin.bytes)) == "1")
    #expect(try Fingerprint.ofPath(sandbox.file("out")) == Fingerprint.ofPath(try raw([0xe9], in: sandbox)))
    #expect(try Fingerprint.ofPath(sandbox.file("other")) == Fingerprint.ofPath(try raw(latin.bytes, in: sandbox)))
    #expect(try await sandbox.run().text.contains("1 done, 1 up to date"))
    try sandbox.write("2", to: latin)
    #expect(try await sandbox.run().text.contains("2 done, 0 up to date"))
  }

  @Test("No name controls a terminal: in the graph, the plan, the lines of a run, and errors")
  func terminal() async throws {
    let sandbox = try Sandbox(
      #"""
      [{"name": "a\u001b[2J\u202e\u009b\n", "command": "echo from a; exit 1"},
       {"name": "b\u001b[2J", "command": "echo from b", "inputs": ["in\u001b[2J"], "outputs": ["out\u001b[2J"]}]
      """#)
    try sandbox.write("1", to: "in\u{1b}[2J")
    for line: [SystemText] in [
      ["--graph"], ["-n"], ["-k"], ["-k", "-v"], ["tasks.json", "c\u{1b}[2J"], ["--\u{1b}[2J"], ["no\u{1b}[2J"],
    ] {
      let run = try await sandbox.run(line)
      let printed = run.text + run.errorText
      #expect(printed.contains("[2J") || printed.contains("#91;2J"), "\(line) \(printed)")
      #expect(printed.unicodeScalars.allSatisfy { $0 == "\n" || $0.harmless() == $0 }, "\(line) \(printed)")
      // The output of the failed command is found by the name.
      if line.first == "-k" { #expect(run.errorText.contains("exit status 1\nfrom a\n")) }
    }
    try sandbox.write(
      #"[{"name": "a", "command": "true", "needs": ["b\u001b[2J"], "x\u001b[2J": 1}]"#, to: "tasks.json")
    let refused = try await sandbox.run()
    #expect(refused.errorText.contains("[2J") && !refused.errorText.contains("\u{1b}"), "\(refused.errorText)")
  }

  private func raw(_ bytes: [UInt8], in sandbox: Sandbox) throws -> SystemText {
    let file = sandbox.file("raw-\(bytes.count)")
    try Data(bytes).write(to: URL(filePath: file.description))
    return file
  }

  @Test("A task file and its folder can have any name, and the error for a missing file distinguishes similar names")
  func taskFile() async throws {
    let sandbox = try Sandbox()
    let path = SystemText(bytes: latin.bytes + Array("/".utf8) + [0xff])
    try sandbox.write(#"[{"name": "a", "command": "cp in out", "inputs": ["in"], "outputs": ["out"]}]"#, to: path)
    try sandbox.write("1", to: "\(latin)/in")
    #expect(try await sandbox.run(path).text.contains("1 done"))
    #expect(try await sandbox.run(path).text.contains("1 up to date"))
    #expect(sandbox.text("\(latin)/out") == "1")
    let run = try await sandbox.run("--trace", "t\(latin)", "--report=r\(latin)", path)
    #expect(run.status == .exited(0) && sandbox.text("t\(latin)")?.hasSuffix("]\n") == true, "\(run.errorText)")
    #expect(sandbox.text("r\(latin)")?.isEmpty == false)
    try sandbox.write(#"[{"name": "a", "command": "x", "inputs": ["\udce9"]}]"#, to: path)
    #expect(try await sandbox.run(path).errorText.contains("caf\\xe9/\\xe9 is missing"))
  }

  @Test("The names of tasks and categories are UTF-8")
  func names() async throws {
    for task in [#""name": "\udce9""#, #""name": "a", "exclusive": "\udce9""#, #""name": "a", "needs": ["\udce9"]"#] {
      let run = try await Sandbox("[{\(task), \"command\": \"true\"}]").run()
      #expect(run.status == .exited(2) && run.errorText.contains("not UTF-8"), "\(run.errorText)")
    }
  }
}
