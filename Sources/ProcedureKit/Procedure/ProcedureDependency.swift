/// A run that another procedure can depend on: a ``ProcedureHandle`` of any type. The procedure starts after the run has finished.
///
/// The protocol lets handles of different types stand in one array. Only the library's types conform: a dependency of
/// another type traps. To wait for something else, add a procedure that waits, and depend on that procedure.
public protocol ProcedureDependency: Sendable {
  /// The id and the name of the run.
  var identity: ProcedureIdentity { get }
}
