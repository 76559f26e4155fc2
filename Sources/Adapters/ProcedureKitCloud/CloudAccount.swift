#if canImport(CloudKit)
  public import CloudKit
  public import ProcedureKit

  /// The user's iCloud account, as a capability.
  ///
  /// A request has no effect: users sign in in the system settings.
  public struct CloudAccount: Capability {
    /// The container.
    public let container: CKContainer

    /// Creates the capability.
    public init(of container: CKContainer) {
      self.container = container
    }

    /// Whether the program can use the account.
    public struct Status: AuthorizationStatus, Hashable {
      /// The status of the account.
      public let account: CKAccountStatus

      /// Returns whether there is an account that can be used.
      public func meets(_ requirement: Void) -> Bool { account == .available }
    }

    /// Returns `true`: each of Apple's systems has CloudKit.
    public func isAvailable() async -> Bool { true }

    /// Returns the status of the account.
    ///
    /// - Throws: `CKError` if the status is unknown.
    public func authorizationStatus() async throws -> Status {
      Status(account: try await container.accountStatus())
    }

    /// Does nothing, since there is no prompt.
    public func requestAuthorization(_ requirement: Void) async {}
  }
#endif
