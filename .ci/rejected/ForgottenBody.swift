// error: type 'CleanUp' does not conform to protocol 'InputlessProcedure'
import ProcedureKit

struct CleanUp: InputlessProcedure {
  typealias Output = Void
}
