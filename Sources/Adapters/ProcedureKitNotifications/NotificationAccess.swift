#if canImport(UserNotifications)
  public import ProcedureKit
  public import UserNotifications

  /// A capability that represents permission to notify the user.
  ///
  /// ```swift
  /// let remind = Remind().condition(.authorized(for: NotificationAccess([.alert, .sound])))
  /// ```
  public struct NotificationAccess: Capability, Equatable {
    /// The app's permission to deliver notifications.
    @nonexhaustive
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not been asked yet.
      case notDetermined
      /// The user denied permission.
      case denied
      /// The app is allowed to deliver notifications that do not interrupt the user.
      case provisional
      /// The app is allowed to deliver notifications.
      case authorized

      /// Returns whether the app is allowed to deliver notifications, with or without interrupting the user.
      public func meets(_ requirement: Void) -> Bool { self == .authorized || self == .provisional }
    }

    /// The requested kinds of notifications, such as alerts, sounds and badges.
    public let options: UNAuthorizationOptions

    /// Creates the capability.
    ///
    /// - Parameter options: The requested kinds of notifications. With `.provisional`, the system does not prompt the user.
    public init(_ options: UNAuthorizationOptions) {
      self.options = options
    }

    /// Returns `true`, because all Apple platforms support notifications.
    public func isAvailable() async -> Bool { true }

    /// Returns the status of the app's permission to deliver notifications, without prompting the user.
    public func authorizationStatus() async -> Status {
      switch await UNUserNotificationCenter.current().notificationSettings().authorizationStatus {
      case .notDetermined: .notDetermined
      case .denied: .denied
      case .provisional: .provisional
      default: .authorized  // includes the ephemeral authorization of an app clip
      }
    }

    /// Asks the user for permission. Cancellation does not close the system's prompt.
    ///
    /// - Throws: Any error from the system.
    public func requestAuthorization(_ requirement: Void) async throws {
      _ = try await UNUserNotificationCenter.current().requestAuthorization(options: options)
    }
  }
#endif
