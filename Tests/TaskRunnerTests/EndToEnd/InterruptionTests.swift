import Foundation
import ProcedureKit
import ProcedureKitProcess
import Synchronization
import Testing

@testable import taskrunner

/// Tests runners that end in the middle of a run.
@Suite(.timeLimit(.minutes(10))) struct InterruptionTests {
  @Test("Ctrl-C ends the commands and their children, the status is 130, and no output counts")
  func interrupt() async throws {
    // The command interrupts the runner when it is in the middle of its output.
    let sandbox = try Sandbox(
      """
      [{"name": "a", "command": "echo half > out; sleep 1000 & echo $! > child; kill -INT $PPID; wait", "outputs": ["out"]},
       {"name": "b", "command": "true", "needs": ["a"]}]
      """)
    let run = try await sandbox.run()
    #expect(run.status == .exited(130) && run.errorText.contains("stopping"), "\(run.errorText)")
    #expect(run.text.contains("0 done, 0 up to date, 2 not done"))
    let child = try #require(sandbox.text("child").flatMap { Int32($0.dropLast()) })
    #expect(await Sandbox.isGone(child))
    #expect(try await sandbox.run("-n").text == "a\nb\n2 to run, 0 up to date\n")
  }

  @Test("A second Ctrl-C kills commands that ignore the first")
  func second() async throws {
    let sandbox = try Sandbox(
      """
      [{"name": "a", "command": "trap '' TERM; echo $$ > pid; kill -INT $PPID; while :; do sleep 0.01; done"}]
      """)
    let run = try await sandbox.run { line, control in if line.contains("stopping") { control.send(SIGINT) } }
    #expect(run.status == .exited(130))
    let process = try #require(sandbox.text("pid").flatMap { Int32($0.dropLast()) })
    #expect(await Sandbox.isGone(process))
  }

  @Test("A runner that was started with Ctrl-C ignored, as in the background of a script, is not ended by Ctrl-C")
  func ignored() async throws {
    let sandbox = try Sandbox(#"[{"name": "a", "command": "kill -INT $PPID; kill -QUIT $PPID; touch done"}]"#)
    var process = ProcessProcedure("sh")
    process.acceptsStatus = { _ in true }
    let line: SystemText = "trap '' INT QUIT; exec '\(Sandbox.executable)'"
    let run = try await process(ProcessRequest("/bin/sh", ["-c", line], workingDirectory: SystemText(sandbox.path)))
    #expect(run.status == .exited(0) && sandbox.exists("done"), "\(run.errorText)")
  }

  @Test("After kill -9, the next run ends the command that is left behind, and runs it again")
  func killed() async throws {
    let sandbox = try Sandbox(
      """
      [{"name": "a", "outputs": ["out"], "command":
        "if test -e out; then echo whole > out; else echo half > out; kill -9 $PPID; sleep 1000; echo late > out; fi"},
       {"name": "b", "command": "cp out copy", "inputs": ["out"], "outputs": ["copy"]}]
      """)
    #expect(try await sandbox.run().status == .signalled(9))
    #expect(sandbox.text("out") == "half\n")
    #expect(try await sandbox.run("-n").text.contains("2 to run"))
    let next = try await sandbox.run()
    #expect(next.status == .exited(0) && next.text.contains("leftover processes from an earlier run"), "\(next.text)")
    #expect(sandbox.text("copy") == "whole\n")
    #expect(try await sandbox.run().text.contains("0 done, 2 up to date"))
  }

  @Test("Two runners of one file do not run concurrently")
  func locked() async throws {
    let sandbox = try Sandbox()
    let inner = "'\(Sandbox.executable)' tasks.json; test $? = 1 && touch refused"
    try sandbox.write("[{\"name\": \"a\", \"command\": \"\(inner)\"}]", to: "tasks.json")
    let run = try await sandbox.run()
    #expect(run.status == .exited(0) && sandbox.exists("refused"), "\(run.errorText)")
  }

  @Test(
    "However often a runner is killed, at any moment, no incomplete output counts as up to date, and all tasks finish"
  )
  func anyMoment() async throws {
    let count = 24
    let tasks = (0..<count).map { number in
      let inputs = number < 4 ? "" : "\"t\(number - 4)\", \"t\(number - number % 4 - 3)\""
      let command = "printf half > t\(number); printf ' whole' >> t\(number)"
      return
        "{\"name\": \"\(number)\", \"command\": \"\(command)\", \"inputs\": [\(inputs)], \"outputs\": [\"t\(number)\"]}"
    }
    let sandbox = try Sandbox("[\(tasks.joined(separator: ",\n"))]")
    let file = try TaskFile("\(sandbox.path)/tasks.json")
    let records = TaskRecords(of: file)
    let seed = UInt64.random(in: 0...(.max))
    print("seed of the moments: \(seed)")
    for round in 0..<12 {
      // The runner is killed when a number of tasks have finished, or a little later.
      let left = Mutex(Int(seed >> (round * 4) & 7))
      let run = try await sandbox.run("-j", "3") { line, control in
        let isOver = left.withLock { left in
          left -= line.hasPrefix("[") ? 1 : 0
          return left < 0
        }
        if isOver { control.send(SIGKILL) }
      }
      for task in file.tasks where records.record(of: task.name.value) != nil {
        #expect(sandbox.text("t\(task.name.value)") == "half whole")
      }
      // Another way to lose the work.
      if round % 3 == 2, run.status == .exited(0) { try? sandbox.remove("t\(round)") }
    }
    #expect(try await sandbox.run().status == .exited(0))
    #expect((0..<count).allSatisfy { sandbox.text("t\($0)") == "half whole" })
    #expect(try await sandbox.run().text.contains("0 done, \(count) up to date"))
  }
}
