#if canImport(Photos) && !os(watchOS)
  public import Photos
  public import ProcedureKit

  /// The permission to use the user's photographs, as a capability.
  ///
  /// The program's `Info.plist` must give the reason for each level.
  public struct PhotosAccess: Capability, Hashable {
    /// The required part of the library.
    public enum Requirement: Hashable, Sendable {
      /// The photographs that the user has selected, or all.
      case some
      /// All photographs.
      case all
    }

    /// The granted access.
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not been asked.
      case notDetermined
      /// The system forbids it, for example, by parental control.
      case restricted
      /// The user has refused.
      case denied
      /// The photographs that the user has selected.
      case some
      /// All photographs; for the level `addOnly`, adding.
      case all

      /// Returns whether the status meets the requirement.
      public func meets(_ requirement: Requirement) -> Bool { self == .all || self == .some && requirement == .some }
    }

    /// Adding only, or reading and writing.
    public let level: PHAccessLevel

    /// Creates the capability.
    ///
    /// - Parameter level: Adding only, or reading and writing.
    public init(_ level: PHAccessLevel) {
      self.level = level
    }

    /// Returns `true`: the systems with Photos have a library.
    public func isAvailable() async -> Bool { true }

    /// Returns the granted access, without asking the user.
    public func authorizationStatus() async -> Status {
      switch PHPhotoLibrary.authorizationStatus(for: level) {
      case .notDetermined: .notDetermined
      case .restricted: .restricted
      case .limited: .some
      case .authorized: .all
      default: .denied
      }
    }

    /// Asks the user. Cancellation does not close the prompt of the system.
    public func requestAuthorization(_ requirement: Requirement) async {
      _ = await PHPhotoLibrary.requestAuthorization(for: level)
    }
  }
#endif
