/// Re-exports the explored locks.
@_exported public import ExploredLocks
/// Re-exports the core, whose types occur in every test of procedures.
@_exported public import ProcedureKit
