import Foundation
import ProcedureKit
import ProcedureKitProcess
import Synchronization

/// What the tasks of one run share.
final class RunContext: Sendable {
  let records: TaskRecords
  let outputs = CommandOutputs()
  /// The variables of the runner, and the mark of the run.
  let environment: [SystemText: SystemText]
  private let controls = Mutex<[ProcessControl]>([])

  /// - Parameters:
  ///   - records: Where records are kept.
  ///   - mark: The mark of this run; see ``RunnerLock``.
  init(_ records: TaskRecords, mark: String) {
    self.records = records
    var environment = ProcessRequest.inheritedEnvironment
    environment[RunnerLock.variable] = SystemText(mark)
    self.environment = environment
  }

  func launched(_ control: ProcessControl) {
    controls.withLock { $0.append(control) }
  }

  /// Kills all commands at once.
  func kill() {
    for control in controls.withLock({ $0 }) { control.send(SIGKILL) }
  }
}
