#if canImport(HealthKit) && !os(tvOS)
  public import HealthKit
  public import ProcedureKit

  /// The permission to use health data of given types, as a capability.
  ///
  /// The program needs the entitlement of HealthKit, and must give the reasons in its `Info.plist`.
  ///
  /// HealthKit does not disclose whether a user allows *reading*: a program without the permission sees only its own data. The capability
  /// is therefore authorized when the user was asked for all types, and allows *sharing* of all types to share.
  public struct HealthAccess: Capability, Hashable {
    /// The known part of the permission.
    public enum Status: AuthorizationStatus, Hashable {
      /// The user was not asked for all of the types.
      case notDetermined
      /// The user does not allow sharing of all types to share.
      case sharingDenied
      /// The user was asked, and allows sharing of all types to share. Whether reading is allowed is unknown.
      case answered

      /// Returns whether the known part of the permission is granted.
      public func meets(_ requirement: Void) -> Bool { self == .answered }
    }

    /// The types that the program writes.
    public let sharedTypes: Set<HKSampleType>
    /// The types that the program reads.
    public let readTypes: Set<HKObjectType>

    /// Creates the capability.
    ///
    /// - Parameters:
    ///   - sharedTypes: The types that the program writes.
    ///   - readTypes: The types that the program reads.
    public init(toShare sharedTypes: Set<HKSampleType> = [], read readTypes: Set<HKObjectType> = []) {
      (self.sharedTypes, self.readTypes) = (sharedTypes, readTypes)
    }

    /// Returns whether the device has health data.
    public func isAvailable() async -> Bool { HKHealthStore.isHealthDataAvailable() }

    /// Returns the known part of the permission, without asking the user.
    ///
    /// - Throws: The error of HealthKit.
    public func authorizationStatus() async throws -> Status {
      let request = try await HKHealthStore().statusForAuthorizationRequest(toShare: sharedTypes, read: readTypes)
      guard request == .unnecessary else { return .notDetermined }
      let store = HKHealthStore()
      let isShared = sharedTypes.allSatisfy { store.authorizationStatus(for: $0) == .sharingAuthorized }
      return isShared ? .answered : .sharingDenied
    }

    /// Asks the user about all types. Cancellation does not close the prompt of the system.
    ///
    /// - Throws: The error of HealthKit.
    public func requestAuthorization(_ requirement: Void) async throws {
      try await HKHealthStore().requestAuthorization(toShare: sharedTypes, read: readTypes)
    }
  }
#endif
