import ProcedureKit

extension ProcedureEvent {
  /// The kind without what it carries.
  var shortName: String {
    switch kind {
    case .didAttach: "didAttach"
    case .willExecute: "willExecute"
    case .didExecute: "didExecute"
    case .retrying: "retrying"
    case .reused: "reused"
    case .didCancel: "didCancel"
    case .willProduce: "willProduce"
    case .didProduce: "didProduce"
    case .willFinish: "willFinish"
    case .didFinish: "didFinish"
    case .gap: "gap"
    }
  }
}
