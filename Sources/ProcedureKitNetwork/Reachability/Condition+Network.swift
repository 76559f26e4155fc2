#if canImport(Network)
  import Network
  public import ProcedureKit

  extension Condition {
    /// A condition that is satisfied if the system has a network, and otherwise fails with a ``ReachabilityError``.
    ///
    /// The condition asks the system (`NWPathMonitor`) and sends nothing. A host may still be unreachable; see
    /// `reachable(host:port:within:clock:)`, which also exists on Linux.
    public static var hasNetwork: Condition {
      Condition("the system has a network") {
        for await path in NWPathMonitor() {
          guard path.status == .satisfied else {
            throw ReachabilityError(.noNetwork, "This machine has no network.")
          }
          return true
        }
        throw CancellationError()
      }
    }
  }
#endif
