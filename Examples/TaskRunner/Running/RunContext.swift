import Foundation
import ProcedureKit
import ProcedureKitProcess
import Synchronization

/// The data that all tasks in a run share.
final class RunContext: Sendable {
  /// The environment variable that contains the grace period, in milliseconds. A runner sets it for its commands, which can be runners
  /// themselves.
  private static let graceVariable: SystemText = "TASKRUNNER_GRACE"
  private static let usualGrace = 5_000

  let records: TaskRecords
  let outputs = CommandOutputs()
  /// The environment variables of the commands: those of the runner, together with the mark and the grace period.
  let environment: [SystemText: SystemText]
  /// How long commands are allowed to continue after the run is cancelled.
  let gracePeriod: Duration
  private let controls = Mutex<[ProcessControl]>([])

  /// Creates the context of a run.
  ///
  /// - Parameters:
  ///   - records: The records of the tasks.
  ///   - mark: The mark of this runner; see ``RunnerLock``.
  init(_ records: TaskRecords, mark: String) {
    self.records = records
    var environment = ProcessRequest.inheritedEnvironment
    let around = environment[RunnerLock.variable]
    environment[RunnerLock.variable] = around.map { "\($0) \(mark)" } ?? SystemText(mark)
    // An enclosing runner kills this one after its grace period, but cannot reach this runner's commands, so the commands have to end
    // earlier.
    let limit = environment[Self.graceVariable]?.string.flatMap { Int($0) } ?? Self.usualGrace
    let milliseconds = min(max(limit, 0), Self.usualGrace)
    gracePeriod = .milliseconds(milliseconds)
    environment[Self.graceVariable] = "\(milliseconds * 3 / 4)"
    self.environment = environment
  }

  func launched(_ control: ProcessControl) {
    controls.withLock { $0.append(control) }
  }

  /// Kills all commands immediately.
  func kill() {
    for control in controls.withLock({ $0 }) { control.send(SIGKILL) }
  }
}
