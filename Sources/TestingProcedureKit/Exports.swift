/// Re-exports the explored locks.
@_exported public import ExploredLocks
/// Re-exports the core, because its types occur in every test of procedures.
@_exported public import ProcedureKit
