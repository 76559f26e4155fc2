#if canImport(HealthKit) && !os(tvOS)
  public import HealthKit
  public import ProcedureKit

  /// The permission to use health data of given types, as a capability.
  ///
  /// The program needs the entitlement of HealthKit, and has to give the reasons in its `Info.plist`.
  ///
  /// HealthKit keeps secret whether a person allows *reading*: a program without the permission sees no data of others. So the capability
  /// is authorized when the person was asked for all types, and allows *sharing* of all types to share.
  public struct HealthAccess: Capability, Hashable {
    /// What is known of the permission.
    public enum Status: AuthorizationStatus, Hashable {
      /// The person was not asked for all of the types.
      case notDetermined
      /// The person does not allow sharing of all types to share.
      case sharingDenied
      /// The person was asked, and allows sharing of all types to share. Whether reading is allowed is not known.
      case answered

      /// Returns whether the person has allowed what can be known.
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

    /// Returns what is known of the permission, without asking anybody.
    ///
    /// - Throws: The error of HealthKit.
    public func authorizationStatus() async throws -> Status {
      let request = try await HKHealthStore().statusForAuthorizationRequest(toShare: sharedTypes, read: readTypes)
      guard request == .unnecessary else { return .notDetermined }
      let store = HKHealthStore()
      let isShared = sharedTypes.allSatisfy { store.authorizationStatus(for: $0) == .sharingAuthorized }
      return isShared ? .answered : .sharingDenied
    }

    /// Asks the person for all types. A cancel does not close the question of the system.
    ///
    /// - Throws: The error of HealthKit.
    public func requestAuthorization(_ requirement: Void) async throws {
      try await HKHealthStore().requestAuthorization(toShare: sharedTypes, read: readTypes)
    }
  }
#endif
