// error: only a procedure with an Encodable input and a Codable value can be remembered
import ProcedureKit
import ProcedureKitDurable

struct Picture: Sendable {}

func remember(in journal: any ProcedureJournal) -> ProcedureTask<Void, Picture> {
  ProcedureTask("load") { Picture() }.remembered(in: journal, as: "picture")
}
