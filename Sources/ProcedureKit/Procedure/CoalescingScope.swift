/// Executions that procedures share on purpose, whatever their names and queues are; see ``Procedure/coalesced(by:in:)``.
///
/// ```swift
/// let tokens = CoalescingScope()
/// let refresh = RefreshToken().coalesced(by: account, in: tokens)
/// let renew = ProcedureTask("renew") { try await service.token() }.coalesced(by: account, in: tokens)
/// ```
///
/// Create a scope where the work belongs, and keep it there: two scopes share nothing. A scope holds an execution only while a run leads
/// the execution.
public final class CoalescingScope: Sendable {
  let executions = SharedWorkTable()

  /// Creates a scope without executions.
  public init() {}

  /// The number of executions that are in progress.
  public var count: Int { executions.count }
}
