#if canImport(PassKit) && !os(tvOS)
  import PassKit
  public import ProcedureKit

  /// A capability that represents permission to add passes to the user's Wallet in the background.
  ///
  /// Operating systems before version 26 do not offer this permission. On these systems, the capability reports only whether the device has
  /// a pass library. The status is `unknown`, so a condition that requires the permission is never satisfied. Instead of using a condition
  /// there, check the status with `GetAuthorizationStatus`, or show the passes to the user.
  public struct WalletAccess: Capability, Hashable {
    /// The app's permission to add passes.
    @nonexhaustive
    public enum Status: AuthorizationStatus, Hashable {
      /// The operating system does not offer this permission.
      case unknown
      /// The user has not been asked yet.
      case notDetermined
      /// The system forbids adding passes.
      case restricted
      /// The user denied permission.
      case denied
      /// The app is allowed to add passes in the background.
      case authorized

      /// Returns whether the app is allowed to add passes in the background.
      public func meets(_ requirement: Void) -> Bool { self == .authorized }
    }

    /// Creates the capability.
    public init() {}

    /// Returns whether the device has a pass library.
    public func isAvailable() async -> Bool { PKPassLibrary.isPassLibraryAvailable() }

    /// Returns the status of the app's permission to add passes, without prompting the user.
    public func authorizationStatus() async -> Status {
      guard #available(iOS 26, macOS 26, watchOS 26, visionOS 26, *) else { return .unknown }
      return switch PKPassLibrary().authorizationStatus(for: .backgroundAddPasses) {
      case .notDetermined: .notDetermined
      case .restricted: .restricted
      case .authorized: .authorized
      default: .denied
      }
    }

    /// Asks the user for permission if the operating system is version 26 or later. Cancellation does not close the system's prompt.
    public func requestAuthorization(_ requirement: Void) async {
      guard #available(iOS 26, macOS 26, watchOS 26, visionOS 26, *) else { return }
      _ = await PKPassLibrary().requestAuthorization(for: .backgroundAddPasses)
    }
  }
#endif
