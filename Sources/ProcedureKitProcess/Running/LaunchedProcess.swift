import Foundation
import Synchronization

/// A program that was started: its outputs, and its end.
final class LaunchedProcess: Sendable {
  private enum Arrival: Sendable {
    case part(Data, ProcessLine.Source)
    case outputEnded(ProcessLine.Source)
    case ended(ProcessStatus)
  }

  let control: ProcessControl
  private let arrivals = Mailbox<Arrival>()
  private let output: OutputReader
  private let errorOutput: OutputReader
  private let timer = Mutex<Task<Void, Never>?>(nil)
  private let clock: any Clock<Duration>
  private let gracePeriod: Duration

  /// Starts the program.
  ///
  /// - Throws: ``ProcessError``.
  init(_ request: ProcessRequest, clock: any Clock<Duration>, gracePeriod: Duration) throws {
    self.clock = clock
    self.gracePeriod = gracePeriod
    let launch = try ProcessLauncher.launch(request)
    let control = ProcessControl(launch.processIdentifier)
    (self.control, output, errorOutput) = (control, launch.output, launch.errorOutput)
    ProcessLauncher.awaitEnd(of: launch.processIdentifier) {
      control.ended()
    } collected: { [arrivals] status in
      arrivals.send(.ended(status))
    }
  }

  /// Reads both outputs to their ends, and waits for the end of the program.
  ///
  /// A cancel of the task changes nothing: `stop` ends the program, and this function sees the end.
  func collect(limit: Int, _ onLine: (@Sendable (ProcessLine) async -> Void)?) async -> ProcessResult {
    var collectors: [ProcessLine.Source: OutputCollector] = [:]
    for source in [ProcessLine.Source.output, .error] {
      collectors[source] = OutputCollector(source, limit: limit, splitsLines: onLine != nil)
      readChunk(source)
    }
    var openCount = collectors.count
    var status: ProcessStatus?
    while openCount > 0 || status == nil {
      // Processes that the program has left behind may keep its outputs.
      if status != nil { after(gracePeriod) { $0.stopReading() } }
      var lines: [ProcessLine] = []
      var nextSource: ProcessLine.Source?
      switch await arrivals.next() {
      case .part(let data, let source):
        lines = collectors[source]?.take(data) ?? []
        nextSource = source
      case .outputEnded(let source):
        openCount -= 1
        lines = collectors[source]?.finish() ?? []
      case .ended(let end):
        status = end
        cancelTimer()
      }
      if status != nil { cancelTimer() }
      if let onLine { for line in lines { await onLine(line) } }
      if let nextSource { readChunk(nextSource) }
    }
    let (output, errors) = (collectors[.output], collectors[.error])
    return ProcessResult(
      processIdentifier: control.processIdentifier, status: status ?? .exited(0), output: output?.kept ?? Data(),
      errorOutput: errors?.kept ?? Data(), droppedByteCount: (output?.droppedCount ?? 0) + (errors?.droppedCount ?? 0))
  }

  private func readChunk(_ source: ProcessLine.Source) {
    (source == .output ? output : errorOutput).readChunk { [arrivals] part in
      arrivals.send(part.map { .part($0, source) } ?? .outputEnded(source))
    }
  }

  private func stopReading() {
    output.stop()
    errorOutput.stop()
  }

  /// Ends the program, and what it has started: SIGTERM, and SIGKILL after the grace period.
  func stop() {
    guard control.stop() else { return }
    after(gracePeriod) { $0.control.send(SIGKILL) }
  }

  /// Calls a function later, instead of the function that was to be called before.
  private func after(_ delay: Duration, _ action: @escaping @Sendable (LaunchedProcess) -> Void) {
    // A task of its own, since that of the body may be cancelled. `collect` cancels the timer.
    let task = Task { [self] in
      guard (try? await clock.sleep(for: delay)) != nil else { return }
      action(self)
    }
    replaceTimer(task)
  }

  private func cancelTimer() {
    replaceTimer(nil)
  }

  private func replaceTimer(_ task: Task<Void, Never>?) {
    let former = timer.withLock { timer in
      defer { timer = task }
      return timer
    }
    former?.cancel()
  }
}
