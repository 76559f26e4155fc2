#if canImport(Contacts) && !os(tvOS)
  import Contacts
  public import ProcedureKit

  /// The permission to use the user's contacts, as a capability.
  ///
  /// The app's `Info.plist` must state the reason.
  public struct ContactsAccess: Capability, Hashable {
    /// The required access.
    public enum Requirement: Hashable, Sendable {
      /// The contacts that the user has selected, or all of them.
      case some
      /// All contacts.
      case all
    }

    /// The granted access.
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not been asked.
      case notDetermined
      /// The system forbids it, for example because of parental controls.
      case restricted
      /// The user has denied access.
      case denied
      /// The contacts that the user has selected. macOS does not offer this choice.
      case some
      /// All contacts.
      case all

      /// Returns whether the status meets the requirement.
      public func meets(_ requirement: Requirement) -> Bool { self == .all || self == .some && requirement == .some }
    }

    /// Creates the capability.
    public init() {}

    /// Returns `true`, because every system with the Contacts framework has contacts.
    public func isAvailable() async -> Bool { true }

    /// Returns the granted access, without asking the user.
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

    /// Asks the user. Cancellation does not close the system's prompt.
    ///
    /// - Throws: Any error from Contacts except a refusal, which Contacts also reports as an error.
    public func requestAuthorization(_ requirement: Requirement) async throws {
      do {
        _ = try await CNContactStore().requestAccess(for: .contacts)
      } catch let error as CNError where error.code == .authorizationDenied {
        // The status reports the refusal.
      }
    }
  }
#endif
