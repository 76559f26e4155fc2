#if canImport(EventKit)
  public import EventKit
  public import ProcedureKit

  /// The permission to use the person's calendars or reminders, as a capability.
  ///
  /// ```swift
  /// let add = AddEvent().condition(.authorized(for: CalendarAccess(to: .event), .write))
  /// ```
  ///
  /// The program's `Info.plist` has to give the reason for each kind of access.
  public struct CalendarAccess: Capability, Hashable {
    /// What the program wants to do.
    public enum Requirement: Hashable, Sendable {
      /// Add events. For reminders, the system knows only full access.
      case write
      /// Read, change and add.
      case full
    }

    /// What the program may do.
    public enum Status: AuthorizationStatus, Hashable {
      /// Nobody has been asked.
      case notDetermined
      /// The system forbids it, by parental control for example.
      case restricted
      /// The person has refused.
      case denied
      /// The program may add events.
      case write
      /// The program may read, change and add.
      case full

      /// Returns whether the status allows what is required.
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

    /// Returns what the program may do, without asking anybody.
    public func authorizationStatus() async -> Status {
      switch EKEventStore.authorizationStatus(for: entity) {
      case .notDetermined: .notDetermined
      case .restricted: .restricted
      case .writeOnly: .write
      case .fullAccess: .full
      default: .denied
      }
    }

    /// Asks the person. A cancel does not close the question of the system.
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
