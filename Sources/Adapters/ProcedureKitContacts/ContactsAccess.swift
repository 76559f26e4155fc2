#if canImport(Contacts) && !os(tvOS)
  import Contacts
  public import ProcedureKit

  /// A capability that represents permission to use the user's contacts.
  ///
  /// The app's `Info.plist` must state the reason for the access.
  public struct ContactsAccess: Capability, Hashable {
    /// The access that the app requires.
    @nonexhaustive
    public enum Requirement: Hashable, Sendable {
      /// The app needs access to at least the contacts that the user selects.
      case some
      /// The app needs access to all contacts.
      case all
    }

    /// The app's access to the user's contacts.
    @nonexhaustive
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not been asked yet.
      case notDetermined
      /// The system forbids access, for example because of parental controls.
      case restricted
      /// The user denied access.
      case denied
      /// The app is allowed to use the contacts that the user selected. macOS does not offer this choice.
      case some
      /// The app is allowed to use all contacts.
      case all

      /// Returns whether the status meets the requirement.
      public func meets(_ requirement: Requirement) -> Bool { self == .all || self == .some && requirement == .some }
    }

    /// Creates the capability.
    public init() {}

    /// Returns `true`, because every system with the Contacts framework has contacts.
    public func isAvailable() async -> Bool { true }

    /// Returns the app's access to the user's contacts, without prompting the user.
    public func authorizationStatus() async -> Status {
      let status = CNContactStore.authorizationStatus(for: .contacts)
      #if !os(macOS)
        if status == .limited { return .some }
      #endif
      return switch status {
      case .notDetermined: .notDetermined
      case .restricted: .restricted
      case .authorized: .all
      default: .denied
      }
    }

    /// Asks the user for permission. Cancellation does not close the system's prompt.
    ///
    /// - Throws: Any error from the Contacts framework. If the user denies access, no error is thrown.
    public func requestAuthorization(_ requirement: Requirement) async throws {
      do {
        _ = try await CNContactStore().requestAccess(for: .contacts)
      } catch let error as CNError where error.code == .authorizationDenied {
        // A refusal is not an error, because the status shows it.
      }
    }
  }
#endif
