#if canImport(PassKit) && !os(tvOS)
  import PassKit
  public import ProcedureKit

  /// The permission to add passes to the user's Wallet in the background, as a capability.
  ///
  /// Systems before version 26 have no such permission: there, the capability only reports whether the device has a library of passes, and
  /// the status is `unknown`, which meets no requirement. Use `GetAuthorizationStatus`, or show the passes to the user.
  public struct WalletAccess: Capability, Hashable {
    /// Whether the program may add passes.
    public enum Status: AuthorizationStatus, Hashable {
      /// The system has no such permission.
      case unknown
      /// The user has not been asked.
      case notDetermined
      /// The system forbids it.
      case restricted
      /// The user has refused.
      case denied
      /// The program may add passes in the background.
      case authorized

      /// Returns whether the program may add passes in the background.
      public func meets(_ requirement: Void) -> Bool { self == .authorized }
    }

    /// Creates the capability.
    public init() {}

    /// Returns whether the device has a library of passes.
    public func isAvailable() async -> Bool { PKPassLibrary.isPassLibraryAvailable() }

    /// Returns whether the program may add passes, without asking the user.
    public func authorizationStatus() async -> Status {
      guard #available(iOS 26, macOS 26, watchOS 26, visionOS 26, *) else { return .unknown }
      return switch PKPassLibrary().authorizationStatus(for: .backgroundAddPasses) {
      case .notDetermined: .notDetermined
      case .restricted: .restricted
      case .authorized: .authorized
      default: .denied
      }
    }

    /// Asks the user, from version 26 on. Cancellation does not close the prompt of the system.
    public func requestAuthorization(_ requirement: Void) async {
      guard #available(iOS 26, macOS 26, watchOS 26, visionOS 26, *) else { return }
      _ = await PKPassLibrary().requestAuthorization(for: .backgroundAddPasses)
    }
  }
#endif
