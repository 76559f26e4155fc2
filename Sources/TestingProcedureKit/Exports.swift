/// Tests of procedures name the core's types all the time, so the testing kit brings them along.
@_exported public import ProcedureKit
