#if canImport(Contacts) && !os(tvOS)
  import Contacts
  public import ProcedureKit

  /// The permission to use the person's contacts, as a capability.
  ///
  /// The program's `Info.plist` has to give the reason.
  public struct ContactsAccess: Capability, Hashable {
    /// What the program needs.
    public enum Requirement: Hashable, Sendable {
      /// The contacts that the person has chosen, or all.
      case some
      /// All contacts.
      case all
    }

    /// What the program may use.
    public enum Status: AuthorizationStatus, Hashable {
      /// Nobody has been asked.
      case notDetermined
      /// The system forbids it, by parental control for example.
      case restricted
      /// The person has refused.
      case denied
      /// The contacts that the person has chosen. macOS has no such choice.
      case some
      /// All contacts.
      case all

      /// Returns whether the status allows what is required.
      public func meets(_ requirement: Requirement) -> Bool { self == .all || self == .some && requirement == .some }
    }

    /// Creates the capability.
    public init() {}

    /// Returns `true`: the systems with Contacts have contacts.
    public func isAvailable() async -> Bool { true }

    /// Returns what the program may use, without asking anybody.
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

    /// Asks the person. A cancel does not close the question of the system.
    ///
    /// - Throws: The error of Contacts. A refusal, which Contacts reports as an error, too, is none.
    public func requestAuthorization(_ requirement: Requirement) async throws {
      do {
        _ = try await CNContactStore().requestAccess(for: .contacts)
      } catch let error as CNError where error.code == .authorizationDenied {
        // The status reports the refusal.
      }
    }
  }
#endif
