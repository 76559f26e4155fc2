import ProcedureKit

extension ProcedureEvent {
  /// The name of the kind.
  var shortName: String { kind.description }

  /// The run that was awaited, for `didAwait`.
  var awaited: ProcedureIdentity? {
    if case .didAwait(let run) = step { run } else { nil }
  }

  /// The completed fraction, for `progress`.
  var fraction: Double? {
    if case .progress(let progress) = step { progress.fraction } else { nil }
  }
}
