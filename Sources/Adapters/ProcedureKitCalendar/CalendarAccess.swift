#if canImport(EventKit)
  public import EventKit
  public import ProcedureKit

  /// A capability that represents permission to use the user's calendars or reminders.
  ///
  /// ```swift
  /// let add = AddEvent().condition(.authorized(for: CalendarAccess(to: .event), .write))
  /// ```
  ///
  /// The app's `Info.plist` must state the reason for each kind of access.
  public struct CalendarAccess: Capability, Hashable {
    /// The access that the app requires.
    @nonexhaustive
    public enum Requirement: Hashable, Sendable {
      /// The app adds events. For reminders, the system offers only full access.
      case write
      /// The app reads, changes and adds events or reminders.
      case full
    }

    /// The app's access to the user's events or reminders.
    @nonexhaustive
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not been asked yet.
      case notDetermined
      /// The system forbids access, for example because of parental controls.
      case restricted
      /// The user denied access.
      case denied
      /// The app is allowed to add events.
      case write
      /// The app is allowed to read, change and add events or reminders.
      case full

      /// Returns whether the status meets the requirement.
      public func meets(_ requirement: Requirement) -> Bool { self == .full || self == .write && requirement == .write }
    }

    /// The data that the app uses: either events or reminders.
    public let entity: EKEntityType

    /// Creates the capability.
    ///
    /// - Parameter entity: The data that the app uses: either events or reminders.
    public init(to entity: EKEntityType) {
      self.entity = entity
    }

    /// Returns `true`, because every system with EventKit has calendars.
    public func isAvailable() async -> Bool { true }

    /// Returns the app's access to the user's events or reminders, without prompting the user.
    public func authorizationStatus() async -> Status {
      switch EKEventStore.authorizationStatus(for: entity) {
      case .notDetermined: .notDetermined
      case .restricted: .restricted
      case .writeOnly: .write
      case .fullAccess: .full
      default: .denied
      }
    }

    /// Asks the user for permission. Cancellation does not close the system's prompt.
    ///
    /// - Throws: Any error from EventKit.
    public func requestAuthorization(_ requirement: Requirement) async throws {
      let store = EKEventStore()
      switch (entity, requirement) {
      case (.event, .write): _ = try await store.requestWriteOnlyAccessToEvents()
      case (.event, .full): _ = try await store.requestFullAccessToEvents()
      default: _ = try await store.requestFullAccessToReminders()
      }
    }
  }
#endif
