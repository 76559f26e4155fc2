/// Re-exports the explored locks.
@_exported public import ExploredLocks
/// Re-exports the core, because every test of procedures uses its types.
@_exported public import ProcedureKit
