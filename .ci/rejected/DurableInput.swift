// error: the input of a durable graph must be Encodable
import ProcedureKit
import ProcedureKitDurable

struct Picture: Sendable {}

func durable(_ graph: ProcedureGraph<Picture, Int>, in journal: any ProcedureJournal) -> DurableGraph<Picture, Int> {
  graph.durable(in: journal)
}
