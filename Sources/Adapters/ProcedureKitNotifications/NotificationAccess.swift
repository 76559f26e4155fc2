#if canImport(UserNotifications)
  public import ProcedureKit
  public import UserNotifications

  /// The permission to notify the user, as a capability.
  ///
  /// ```swift
  /// let remind = Remind().condition(.authorized(for: NotificationAccess([.alert, .sound])))
  /// ```
  public struct NotificationAccess: Capability, Equatable {
    /// Whether the app may deliver notifications.
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not been asked.
      case notDetermined
      /// The user has denied the permission.
      case denied
      /// The app may deliver notifications that do not interrupt the user.
      case provisional
      /// The app may deliver notifications.
      case authorized

      /// Returns whether the app may deliver notifications, at least those that do not interrupt the user.
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

    /// Returns `true`, because all of Apple's platforms have notifications.
    public func isAvailable() async -> Bool { true }

    /// Returns whether the app may deliver notifications, without asking the user.
    public func authorizationStatus() async -> Status {
      switch await UNUserNotificationCenter.current().notificationSettings().authorizationStatus {
      case .notDetermined: .notDetermined
      case .denied: .denied
      case .provisional: .provisional
      default: .authorized  // also the ephemeral authorization of an app clip
      }
    }

    /// Asks the user. Cancellation does not close the system's prompt.
    ///
    /// - Throws: The system's error.
    public func requestAuthorization(_ requirement: Void) async throws {
      _ = try await UNUserNotificationCenter.current().requestAuthorization(options: options)
    }
  }
#endif
