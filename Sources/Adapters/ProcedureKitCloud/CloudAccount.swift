#if canImport(CloudKit)
  public import CloudKit
  public import ProcedureKit

  /// A capability that represents the user's iCloud account.
  ///
  /// Requesting authorization has no effect, because users sign in to iCloud in the system settings.
  public struct CloudAccount: Capability {
    /// The container that the account gives access to.
    public let container: CKContainer

    /// Creates the capability.
    public init(of container: CKContainer) {
      self.container = container
    }

    /// The status of an iCloud account.
    public struct Status: AuthorizationStatus, Hashable {
      /// The status as reported by CloudKit.
      public let account: CKAccountStatus

      /// Returns whether there is an account that the app can use.
      public func meets(_ requirement: Void) -> Bool { account == .available }
    }

    /// Returns `true`, because CloudKit is available on all Apple platforms.
    public func isAvailable() async -> Bool { true }

    /// Returns the status of the account.
    ///
    /// - Throws: `CKError` if the status cannot be determined.
    public func authorizationStatus() async throws -> Status {
      Status(account: try await container.accountStatus())
    }

    /// Does nothing, because there is no prompt.
    public func requestAuthorization(_ requirement: Void) async {}
  }
#endif
