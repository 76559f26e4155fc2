#if canImport(Photos) && !os(watchOS)
  public import Photos
  public import ProcedureKit

  /// The permission to use the user's photos, as a capability.
  ///
  /// The app's `Info.plist` must state the reason for each level.
  public struct PhotosAccess: Capability, Hashable {
    /// The required part of the library.
    public enum Requirement: Hashable, Sendable {
      /// The photos that the user has selected, or all of them.
      case some
      /// All photos.
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
      /// The photos that the user has selected.
      case some
      /// All photos; for the level `addOnly`, adding photos.
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

    /// Returns `true`, because every system with Photos has a library.
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

    /// Asks the user. Cancellation does not close the system's prompt.
    public func requestAuthorization(_ requirement: Requirement) async {
      _ = await PHPhotoLibrary.requestAuthorization(for: level)
    }
  }
#endif
