/// Re-exports the core, whose types occur in every test of procedures.
@_exported public import ProcedureKit
