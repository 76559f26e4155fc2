#if canImport(HealthKit) && !os(tvOS)
  public import HealthKit
  public import ProcedureKit

  /// A capability that represents permission to use certain types of health data.
  ///
  /// The app needs the HealthKit entitlement and must state the reasons for the access in its `Info.plist`.
  ///
  /// HealthKit does not disclose whether a user allows *reading*. An app without this permission sees only data that it wrote itself.
  /// Therefore, the capability is considered authorized if the user has been asked about all types and allows *sharing* all of
  /// ``sharedTypes``.
  public struct HealthAccess: Capability, Hashable {
    /// The status of the permission, as far as HealthKit discloses it.
    @nonexhaustive
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not yet been asked about all of the types.
      case notDetermined
      /// Sharing is not allowed for one or more of ``sharedTypes``.
      case sharingDenied
      /// The user has been asked and allows sharing all of ``sharedTypes``. It is unknown whether reading is allowed.
      case answered

      /// Returns whether permission has been granted, as far as HealthKit discloses it.
      public func meets(_ requirement: Void) -> Bool { self == .answered }
    }

    /// The types that the app writes.
    public let sharedTypes: Set<HKSampleType>
    /// The types that the app reads.
    public let readTypes: Set<HKObjectType>

    /// Creates the capability.
    ///
    /// - Parameters:
    ///   - sharedTypes: The types that the app writes.
    ///   - readTypes: The types that the app reads.
    public init(toShare sharedTypes: Set<HKSampleType> = [], read readTypes: Set<HKObjectType> = []) {
      (self.sharedTypes, self.readTypes) = (sharedTypes, readTypes)
    }

    /// Returns whether health data is available on the device.
    public func isAvailable() async -> Bool { HKHealthStore.isHealthDataAvailable() }

    /// Returns the status of the permission, as far as HealthKit discloses it, without prompting the user.
    ///
    /// - Throws: Any error from HealthKit.
    public func authorizationStatus() async throws -> Status {
      let request = try await HKHealthStore().statusForAuthorizationRequest(toShare: sharedTypes, read: readTypes)
      guard request == .unnecessary else { return .notDetermined }
      let store = HKHealthStore()
      let isShared = sharedTypes.allSatisfy { store.authorizationStatus(for: $0) == .sharingAuthorized }
      return isShared ? .answered : .sharingDenied
    }

    /// Asks the user about all types. Cancellation does not close the system's prompt.
    ///
    /// - Throws: Any error from HealthKit.
    public func requestAuthorization(_ requirement: Void) async throws {
      try await HKHealthStore().requestAuthorization(toShare: sharedTypes, read: readTypes)
    }
  }
#endif
