// error: a procedure can be remembered only if its input is Encodable or Void, and its value is Codable or Void
import ProcedureKit
import ProcedureKitDurable

struct Picture: Sendable {}

func remember(in journal: any ProcedureJournal) -> ProcedureTask<Void, Picture> {
  ProcedureTask("load") { Picture() }.remembered(in: journal, as: "picture")
}
