#if canImport(Network)
  import Network
  public import ProcedureKit

  extension Condition {
    /// A condition that is satisfied if the system has a network connection, and otherwise fails with a ``ReachabilityError``.
    ///
    /// The condition reads the state of the network from `NWPathMonitor`, without sending anything. A particular host may still be
    /// unreachable; see `reachable(host:port:within:clock:)`, which is also available on Linux.
    public static var hasNetwork: Condition {
      Condition("the system has a network connection") {
        for await path in NWPathMonitor() {
          guard path.status == .satisfied else {
            throw ReachabilityError(.noNetwork, "This machine has no network connection.")
          }
          return true
        }
        throw CancellationError()
      }
    }
  }
#endif
