#if canImport(Photos) && !os(watchOS)
  public import Photos
  public import ProcedureKit

  /// A capability that represents permission to use the user's photos.
  ///
  /// The app's `Info.plist` must state the reason for each access level.
  public struct PhotosAccess: Capability, Hashable {
    /// The part of the photo library that the app requires.
    @nonexhaustive
    public enum Requirement: Hashable, Sendable {
      /// The app needs access to at least the photos that the user selects.
      case some
      /// The app needs access to all photos.
      case all
    }

    /// The app's access to the photo library.
    @nonexhaustive
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not been asked yet.
      case notDetermined
      /// The system forbids access, for example because of parental controls.
      case restricted
      /// The user denied access.
      case denied
      /// The app is allowed to use the photos that the user selected.
      case some
      /// The app is allowed to use all photos or, for the level `addOnly`, to add photos.
      case all

      /// Returns whether the status meets the requirement.
      public func meets(_ requirement: Requirement) -> Bool { self == .all || self == .some && requirement == .some }
    }

    /// The access level: either add-only or read-write.
    public let level: PHAccessLevel

    /// Creates the capability.
    ///
    /// - Parameter level: The access level: either add-only or read-write.
    public init(_ level: PHAccessLevel) {
      self.level = level
    }

    /// Returns `true`, because every system with the Photos framework has a photo library.
    public func isAvailable() async -> Bool { true }

    /// Returns the app's access to the photo library, without prompting the user.
    public func authorizationStatus() async -> Status {
      switch PHPhotoLibrary.authorizationStatus(for: level) {
      case .notDetermined: .notDetermined
      case .restricted: .restricted
      case .limited: .some
      case .authorized: .all
      default: .denied
      }
    }

    /// Asks the user for permission. Cancellation does not close the system's prompt.
    public func requestAuthorization(_ requirement: Requirement) async {
      _ = await PHPhotoLibrary.requestAuthorization(for: level)
    }
  }
#endif
