import ProcedureKit

extension ProcedureEvent {
  /// The name of the kind.
  var shortName: String { kind.description }
}
