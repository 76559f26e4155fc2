#if canImport(UserNotifications)
  public import ProcedureKit
  public import UserNotifications

  /// The permission to notify the user, as a capability.
  ///
  /// ```swift
  /// let remind = Remind().condition(.authorized(for: NotificationAccess([.alert, .sound])))
  /// ```
  public struct NotificationAccess: Capability, Equatable {
    /// Whether the program may notify.
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not been asked.
      case notDetermined
      /// The user has refused.
      case denied
      /// The program may notify without interrupting.
      case provisional
      /// The program may notify.
      case authorized

      /// Returns whether the program may notify, at least without interrupting.
      public func meets(_ requirement: Void) -> Bool { self == .authorized || self == .provisional }
    }

    /// The requested kinds of notifications: alerts, sounds, badges.
    public let options: UNAuthorizationOptions

    /// Creates the capability.
    ///
    /// - Parameter options: The requested kinds of notifications. With `.provisional`, the system does not ask the user.
    public init(_ options: UNAuthorizationOptions) {
      self.options = options
    }

    /// Returns `true`: each of Apple's systems has notifications.
    public func isAvailable() async -> Bool { true }

    /// Returns whether the program may notify, without asking the user.
    public func authorizationStatus() async -> Status {
      switch await UNUserNotificationCenter.current().notificationSettings().authorizationStatus {
      case .notDetermined: .notDetermined
      case .denied: .denied
      case .provisional: .provisional
      default: .authorized  // also the ephemeral authorization of an app clip
      }
    }

    /// Asks the user. Cancellation does not close the prompt of the system.
    ///
    /// - Throws: The error of the system.
    public func requestAuthorization(_ requirement: Void) async throws {
      _ = try await UNUserNotificationCenter.current().requestAuthorization(options: options)
    }
  }
#endif
