import Foundation
import ProcedureKit
import Synchronization

/// A started program, together with its output streams.
final class LaunchedProcess: Sendable {
  private enum Arrival: Sendable {
    case part(Data, ProcessLine.Source)
    case outputEnded(ProcessLine.Source)
    case ended
  }

  let control: ProcessControl
  private let arrivals = Mailbox<Arrival>()
  private let output: OutputReader
  private let errorOutput: OutputReader?
  /// The task that kills the program after the grace period; `nil` until the program is stopped.
  private let killing = Mutex<Task<Void, Never>?>(nil)
  private let clock: any Clock<Duration>
  private let gracePeriod: Duration

  /// Starts the program.
  ///
  /// - Throws: ``ProcessError`` if the program cannot be started.
  init(_ request: ProcessRequest, clock: any Clock<Duration>, gracePeriod: Duration) throws {
    self.clock = clock
    self.gracePeriod = gracePeriod
    let launch = try ProcessLauncher.launch(request)
    let control = ProcessControl(launch.processIdentifier)
    (self.control, output, errorOutput) = (control, launch.output, launch.errorOutput)
    launch.awaitEnd { [arrivals] in arrivals.send(.ended) }
  }

  /// Reads both outputs until they end and waits for the program to end.
  ///
  /// Returns `nil` if the status is lost. Cancelling the task has no effect on this function. To make it return early, call `stop`, which
  /// terminates the program.
  func collect(limit: Int, _ onLine: (@Sendable (ProcessLine) async -> Void)?) async -> ProcessResult? {
    var output = OutputCollector(.output, limit: limit, splitsLines: onLine != nil)
    var errors = OutputCollector(.error, limit: limit, splitsLines: onLine != nil)
    readChunk(.output)
    if errorOutput != nil { readChunk(.error) }
    var openCount = errorOutput == nil ? 1 : 2
    var hasEnded = false
    while openCount > 0 || !hasEnded {
      // Processes that the program left behind may hold its outputs open.
      let silence = hasEnded ? after(gracePeriod) { $0.stopReading() } : nil
      let arrival = await arrivals.next(wakesForQuiet: hasEnded)
      silence?.cancel()
      var lines: [ProcessLine] = []
      var nextSource: ProcessLine.Source?
      switch arrival {
      case .part(let data, let source):
        lines = source == .output ? output.take(data) : errors.take(data)
        nextSource = source
      case .outputEnded(let source):
        openCount -= 1
        lines = source == .output ? output.finish() : errors.finish()
      case .ended:
        hasEnded = true
      }
      if let onLine { for line in lines { await onLine(line) } }
      if let nextSource { readChunk(nextSource) }
    }
    let status = control.collect()
    killing.withLock { $0 }?.cancel()
    guard let status else { return nil }
    return ProcessResult(
      processIdentifier: control.processIdentifier, status: status, output: output.kept, errorOutput: errors.kept,
      droppedByteCount: output.droppedCount + errors.droppedCount)
  }

  private func readChunk(_ source: ProcessLine.Source) {
    (source == .output ? output : errorOutput)?.readChunk { [arrivals] part in
      if let part {
        arrivals.send(.part(part, source))
      } else {
        // The outputs usually end just before the program does.
        arrivals.send(.outputEnded(source), isQuiet: true)
      }
    }
  }

  private func stopReading() {
    output.stop()
    errorOutput?.stop()
  }

  /// Terminates the program and the processes that it started, with SIGTERM and, after the grace period, with SIGKILL.
  ///
  /// After that, the outputs are no longer read, because a process that has left the group may still hold them open.
  func stop() {
    killing.withLock { killing in
      // The program may already have been stopped, because the procedure and its task can both be cancelled. If the status has been
      // collected, there is no process to stop. Otherwise, `collect` will cancel the new task.
      guard control.stop() else { return }
      killing = after(gracePeriod) { process in
        process.control.send(SIGKILL)
        process.stopReading()
      }
    }
  }

  /// Calls `action` after a delay.
  private func after(
    _ delay: Duration, _ action: @escaping @Sendable (LaunchedProcess) -> Void
  ) -> Task<Void, Never> {
    // The delay uses a separate task because the body's task may be cancelled. `collect` cancels the separate task.
    Task { [self] in
      guard (try? await clock.sleep(for: delay.saturated)) != nil else { return }
      action(self)
    }
  }
}
