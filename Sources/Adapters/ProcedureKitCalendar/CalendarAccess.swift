#if canImport(EventKit)
  public import EventKit
  public import ProcedureKit

  /// The permission to use the user's calendars or reminders, as a capability.
  ///
  /// ```swift
  /// let add = AddEvent().condition(.authorized(for: CalendarAccess(to: .event), .write))
  /// ```
  ///
  /// The program's `Info.plist` must give the reason for each kind of access.
  public struct CalendarAccess: Capability, Hashable {
    /// The required access.
    public enum Requirement: Hashable, Sendable {
      /// Add events. For reminders, the system has only full access.
      case write
      /// Read, change and add.
      case full
    }

    /// The granted access.
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not been asked.
      case notDetermined
      /// The system forbids it, for example, by parental control.
      case restricted
      /// The user has refused.
      case denied
      /// The program may add events.
      case write
      /// The program may read, change and add.
      case full

      /// Returns whether the status meets the requirement.
      public func meets(_ requirement: Requirement) -> Bool { self == .full || self == .write && requirement == .write }
    }

    /// Events or reminders.
    public let entity: EKEntityType

    /// Creates the capability.
    ///
    /// - Parameter entity: Events or reminders.
    public init(to entity: EKEntityType) {
      self.entity = entity
    }

    /// Returns `true`: the systems with EventKit have calendars.
    public func isAvailable() async -> Bool { true }

    /// Returns the granted access, without asking the user.
    public func authorizationStatus() async -> Status {
      switch EKEventStore.authorizationStatus(for: entity) {
      case .notDetermined: .notDetermined
      case .restricted: .restricted
      case .writeOnly: .write
      case .fullAccess: .full
      default: .denied
      }
    }

    /// Asks the user. Cancellation does not close the prompt of the system.
    ///
    /// - Throws: The error of EventKit.
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
