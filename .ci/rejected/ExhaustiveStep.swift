// error: switch covers known cases, but 'ProcedureEvent.Step' may have additional unknown values
import ProcedureKit

func isEnd(_ event: ProcedureEvent) -> Bool {
  switch event.step {
  case .didAttach, .willExecute, .didExecute, .reused, .retrying, .didCancel, .willProduce, .didProduce, .didAwait: false
  case .didRequest, .progress, .willFinish, .gap: false
  case .didFinish: true
  }
}
