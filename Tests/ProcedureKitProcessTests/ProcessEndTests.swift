import Foundation
import ProcedureKit
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKitProcess

/// Tests PARITY.md: cancelling, suspending and resuming programs, and processes that a program leaves behind.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ProcessEndTests {
  private let queue = ProcedureQueue("programs", maxConcurrentProcedures: 8)

  /// Starts a program that prints "ready", and returns after it has done so.
  private func start(
    _ command: String, _ change: (inout ProcessProcedure) -> Void = { _ in }
  ) async throws -> (ProcedureHandle<ProcessResult>, ProcessControl) {
    let (ready, tell) = AsyncStream.makeStream(of: Void.self)
    let launched = Mutex<ProcessControl?>(nil)
    var procedure = ProcessProcedure()
    procedure.onLaunch = { control in launched.withLock { $0 = control } }
    procedure.onLine = { line in if line.text == "ready" { tell.yield() } }
    change(&procedure)
    let handle = queue.add(procedure, input: .shell(SystemText(command)))
    for await _ in ready { break }
    return (handle, try #require(launched.withLock { $0 }))
  }

  @Test(
    "A process that a program leaves behind, and that holds the output open, does not delay the end of the procedure")
  func leftBehind() async throws {
    let clock = VirtualClock()
    let (handle, control) = try await start("sleep 1000 & echo ready") { $0.clock = clock }
    try await eventually {
      clock.advance(by: .seconds(5))
      return isFinished(handle)
    }
    #expect(try await handle.value.text == "ready\n")
    kill(-control.processIdentifier, SIGKILL)
  }

  private func isFinished<T>(_ handle: ProcedureHandle<T>) -> Bool { handle.state.isFinished }

  private func isAlive(_ pid: Int32) -> Bool { kill(-pid, 0) == 0 }

  @Test("A cancellation ends the program, and the processes that it started, with SIGTERM")
  func cancel() async throws {
    let child = Mutex<Int32>(0)
    let (handle, control) = try await start("sleep 1000 & echo $!; echo ready; wait") { procedure in
      let onLine = procedure.onLine
      procedure.onLine = { line in
        if let id = Int32(line.text) { child.withLock { $0 = id } }
        await onLine?(line)
      }
    }
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(!control.send(SIGTERM))
    #expect(child.withLock { $0 } > 0 && state(of: child.withLock { $0 }, becomes: "Z"))
  }

  @Test(
    "The grace period can have any length",
    arguments: [Duration.seconds(Int64.max), Duration(attoseconds: .max), .seconds(-1), Duration(attoseconds: .min)])
  func anyGracePeriod(_ period: Duration) async throws {
    let (handle, control) = try await start("sleep 1000 & echo ready; wait") { $0.gracePeriod = period }
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(!control.send(SIGTERM))
  }

  @Test("A program that ignores SIGTERM is killed when the grace period ends, and not earlier")
  func kill9() async throws {
    let clock = VirtualClock()
    let (handle, control) = try await start("trap '' TERM; echo ready; while :; do sleep 0.05; done") {
      $0.clock = clock
    }
    handle.cancel()
    _ = try await clock.nextSleep()
    #expect(isAlive(control.processIdentifier))
    clock.advance(by: .seconds(4))
    #expect(isAlive(control.processIdentifier) && !isFinished(handle))
    clock.advance(by: .seconds(1))
    #expect(await handle.outcome.isCancelled)
  }

  @Test("A program is asked to end only once, even if its procedure and its task are both cancelled")
  func once() async throws {
    let clock = VirtualClock()
    let (handle, control) = try await start("trap '' TERM; echo ready; while :; do sleep 0.01; done") {
      $0.clock = clock
    }
    #expect(control.stop())
    #expect(!control.stop())
    #expect(control.send(SIGKILL))
    #expect(await handle.outcome.isCancelled == false)
  }

  @Test("A status that other code in the process has already collected is an error, and is not invented")
  func lostStatus() async throws {
    var procedure = ProcessProcedure()
    let launched = Mutex<ProcessControl?>(nil)
    procedure.onLaunch = { control in launched.withLock { $0 = control } }
    // The status is collected after the output, so this function is called earlier. The program ends without delay.
    procedure.onLine = { _ in
      guard let id = launched.withLock({ $0 })?.processIdentifier else { return }
      while waitpid(id, nil, 0) < 0, errno == EINTR {}
    }
    let error = await #expect(throws: ProcessError.self) { try await procedure(.shell("echo kitten")) }
    #expect(error?.kind == .statusLost && error?.description.contains("unknown status") == true)
  }

  @Test("A program in a caller's task also ends when the queue is cancelled")
  func cancelOfRun() async throws {
    let (ready, tell) = AsyncStream.makeStream(of: Void.self)
    var procedure = ProcessProcedure()
    procedure.onLine = { _ in tell.yield() }
    let caller = Task { [procedure] in  // ends with the procedure, which is cancelled below
      try await queue.run(procedure, input: .shell("echo ready; exec sleep 1000"))
    }
    for await _ in ready { break }
    queue.cancelAll()
    await #expect(throws: CancellationError.self) { _ = try await caller.value }
  }

  @Test("A timeout ends the program")
  func timeout() async throws {
    let clock = VirtualClock()
    var configuration = ProcedureQueue.Configuration("timed")
    configuration.clock = clock
    let timed = ProcedureQueue(configuration)
    let handle = timed.add(ProcessProcedure().timeout(.seconds(9)), input: .shell("exec sleep 1000"))
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(9))
    let error = await #expect(throws: ProcedureError.self) { try await handle.value }
    #expect(error?.kind == .timedOut)
  }

  @Test("A program can be suspended and resumed; a suspended one can be cancelled")
  func suspend() async throws {
    let (handle, control) = try await start("echo ready; exec sleep 1000")
    #expect(control.suspend())
    #expect(state(of: control.processIdentifier, becomes: "T"))
    #expect(control.resume())
    #expect(state(of: control.processIdentifier, becomes: "S"))
    #expect(control.suspend())
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(!control.resume())
  }

  /// Returns whether the system eventually shows the given state of a process. A process that no longer exists is treated as `Z`.
  private func state(of pid: Int32, becomes state: Character) -> Bool {
    for _ in 0..<1_000_000 {
      guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else {
        return state == "Z" || !FileManager.default.fileExists(atPath: "/proc/self")
      }
      if text.split(separator: ")").last?.first(where: { $0 != " " }) == state { return true }
    }
    return false
  }

  @Test(
    "A process in another group that keeps writing after a cancellation does not delay the end beyond the grace period")
  func otherGroup() async throws {
    let clock = VirtualClock()
    let (handle, _) = try await start("setsid sh -c 'trap \"\" TERM; echo ready; exec yes' & exit 0") { procedure in
      procedure.clock = clock
      procedure.outputLimit = 0
    }
    handle.cancel()
    try await eventually {
      clock.advance(by: .seconds(5))
      return isFinished(handle)
    }
    #expect(await handle.outcome.isCancelled)
  }

  @Test("A cancellation gives the children of a program the grace period, even if the program ends immediately")
  func graceOfChildren() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("ProcedureKit-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    let child = "trap 'sleep 0.1; echo tidy > \"$1\"; exit' TERM; echo ready; while :; do sleep 0.01; done"
    let request = "sh -c '\(child.replacingOccurrences(of: "'", with: "'\\''"))' child \(file) & wait"
    let (handle, _) = try await start(request)
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "tidy\n")
  }

  @Test("A cancellation after a program has ended also ends the process group that the program left behind")
  func cancelAfterEnd() async throws {
    let (handle, control) = try await start("sh -c 'echo ready; exec yes' & exit 0") { $0.outputLimit = 0 }
    #expect(state(of: control.processIdentifier, becomes: "Z"))
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(!control.resume())
  }
}
