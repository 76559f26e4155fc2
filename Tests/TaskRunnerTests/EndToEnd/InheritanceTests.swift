import Foundation
import ProcedureKit
import ProcedureKitProcess
import Synchronization
import Testing

@testable import taskrunner

/// Tests the signal settings that a runner inherits from its parent, and passes on to another runner.
@Suite(.timeLimit(.minutes(10))) struct InheritanceTests {
  /// Starts the runner from a shell with all signals blocked, as a parent can do, and waits for it to end.
  ///
  /// - Returns: The status, as `waitpid` returns it.
  private func runBlocked(_ sandbox: Sandbox, _ traps: String) async throws -> Int32 {
    var attributes = posix_spawnattr_t()
    try #require(posix_spawnattr_init(&attributes) == 0)
    defer { posix_spawnattr_destroy(&attributes) }
    var blocked = sigset_t()
    sigfillset(&blocked)
    try #require(posix_spawnattr_setsigmask(&attributes, &blocked) == 0)
    try #require(posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK)) == 0)
    let line = "\(traps); cd '\(sandbox.path)' && exec '\(Sandbox.executable)' > printed 2>&1"
    var arguments: [UnsafeMutablePointer<CChar>?] = ["sh", "-c", line].map { (text: String) in strdup(text) }
    arguments.append(nil)
    var id: pid_t = 0
    defer { for argument in arguments { free(argument) } }
    try #require(posix_spawn(&id, "/bin/sh", nil, &attributes, &arguments, environ) == 0)
    let process = id
    return await withCheckedContinuation { continuation in
      // The wait blocks, so it has its own thread.
      Thread.detachNewThread {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        continuation.resume(returning: status)
      }
    }
  }

  @Test(
    "A parent that ignores SIGCHLD, SIGPIPE and other signals, or blocks them, does not change the status of a command")
  func ignored() async throws {
    let sandbox = try Sandbox(
      #"[{"name": "a", "command": "kill -PIPE $$"}, {"name": "b", "command": "exit 3"}, {"name": "c", "command": "true"}]"#
    )
    let status = try await runBlocked(sandbox, "trap '' CHLD PIPE USR1 QUIT TERM INT")
    let printed = sandbox.text("printed") ?? ""
    #expect(status & 0x7f == 0 && [3, 141].contains(status >> 8 & 0xff), "\(printed)")
    try sandbox.write(
      #"[{"name": "c", "command": "exit 0"}, {"name": "d", "command": "yes | head -n 1"}]"#, to: "tasks.json")
    let success = try await runBlocked(sandbox, "trap '' CHLD PIPE")
    #expect(success == 0, "\(sandbox.text("printed") ?? "")")
  }

  @Test("A runner whose parent blocks all signals can be interrupted nevertheless, and its commands end")
  func blocked() async throws {
    let sandbox = try Sandbox(#"[{"name": "a", "command": "kill -TERM $PPID; exec sleep 1000"}]"#)
    let status = try await runBlocked(sandbox, ":")
    #expect(status & 0x7f == 0 && status >> 8 & 0xff == 143, "\(sandbox.text("printed") ?? "")")
  }

  @Test(
    "In a runner within a runner, the inner one ends its commands before the outer one kills it, and leaves none behind"
  )
  func nested() async throws {
    // The innermost command ignores SIGTERM, so that the whole grace period of the inner runner passes.
    let inner = "trap '' TERM; echo $$ > pid; kill -INT $(cat outer); while :; do sleep 0.01; done"
    let sandbox = try Sandbox(
      #"[{"name": "outer", "command": "echo $PPID > outer; exec '\#(Sandbox.executable)' inner.json"}]"#)
    try sandbox.write(#"[{"name": "inner", "command": "\#(inner)"}]"#, to: "inner.json")
    let run = try await sandbox.run()
    #expect(run.status == .exited(130))
    let process = try #require(sandbox.text("pid").flatMap { Int32($0.dropLast()) })
    #expect(await Sandbox.isGone(process))
  }

  @Test("After kill -9 of an outer runner, the next run also ends the commands that an inner runner left behind")
  func nestedKill() async throws {
    let sandbox = try Sandbox(
      #"[{"name": "outer", "command": "test -e again || { echo $PPID > outer; exec '\#(Sandbox.executable)' inner.json; }"}]"#
    )
    try sandbox.write(
      #"[{"name": "inner", "command": "touch again; echo $$ > pid; kill -9 $(cat outer) $PPID; exec sleep 1000"}]"#,
      to: "inner.json")
    let first = try await sandbox.run()
    #expect(first.status == .signalled(9), "\(first.text)")
    let next = try await sandbox.run()
    #expect(next.status == .exited(0) && next.text.contains("leftover processes from an earlier run"), "\(next.text)")
    let process = try #require(sandbox.text("pid").flatMap { Int32($0.dropLast()) })
    #expect(await Sandbox.isGone(process))
  }
}
