#if canImport(Photos) && !os(watchOS)
  public import Photos
  public import ProcedureKit

  /// The permission to use the person's photographs, as a capability.
  ///
  /// The program's `Info.plist` has to give the reason for each level.
  public struct PhotosAccess: Capability, Hashable {
    /// How much of the library the program needs.
    public enum Requirement: Hashable, Sendable {
      /// The photographs that the person has chosen, or all.
      case some
      /// All photographs.
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
      /// The photographs that the person has chosen.
      case some
      /// All photographs; for the level `addOnly`, adding.
      case all

      /// Returns whether the status allows what is required.
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

    /// Returns what the program may use, without asking anybody.
    public func authorizationStatus() async -> Status {
      switch PHPhotoLibrary.authorizationStatus(for: level) {
      case .notDetermined: .notDetermined
      case .restricted: .restricted
      case .limited: .some
      case .authorized: .all
      default: .denied
      }
    }

    /// Asks the person. A cancel does not close the question of the system.
    public func requestAuthorization(_ requirement: Requirement) async {
      _ = await PHPhotoLibrary.requestAuthorization(for: level)
    }
  }
#endif
