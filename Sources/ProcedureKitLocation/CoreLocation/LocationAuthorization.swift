#if canImport(CoreLocation)
  import CoreLocation
  import Foundation
  public import ProcedureKit

  /// A capability that represents the permission to use the device's location.
  ///
  /// ```swift
  /// let locate = UserLocation(from: CoreLocationSource(), accuracy: 50)
  ///   .condition(.authorized(for: LocationAuthorization(), .whenInUse))
  /// ```
  public struct LocationAuthorization: Capability, Hashable {
    /// When the app needs the location.
    @nonexhaustive
    public enum Requirement: Hashable, Sendable {
      /// The app needs the location while the app is in use.
      case whenInUse
      /// The app also needs the location in the background. tvOS and visionOS have no such permission, so a request on these systems asks
      /// only for ``whenInUse``.
      case always
    }

    /// The permission that the app has.
    @nonexhaustive
    public enum Status: AuthorizationStatus, Hashable {
      /// The user has not been asked yet.
      case notDetermined
      /// The system forbids access, for example because of parental controls.
      case restricted
      /// The user denied access.
      case denied
      /// The app is allowed to use the location while the app is in use.
      case whenInUse
      /// The app is allowed to use the location at any time.
      case always

      /// Returns whether the status meets the requirement.
      public func meets(_ requirement: Requirement) -> Bool {
        switch requirement {
        case .whenInUse: self == .whenInUse || self == .always
        case .always: self == .always
        }
      }
    }

    /// Creates the capability.
    public init() {}

    /// Returns whether location services are enabled on the device.
    public func isAvailable() async -> Bool { CLLocationManager.locationServicesEnabled() }

    /// Returns the permission that the app has, without prompting the user.
    public func authorizationStatus() async -> Status {
      await MainActor.run { Status(CLLocationManager().authorizationStatus) }
    }

    /// Asks the user for permission and returns when the status changes. Cancellation ends the wait.
    ///
    /// If `always` is requested and the user chooses to keep ``Status/whenInUse``, the system reports no change. The wait then ends only
    /// when it times out or is cancelled.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled.
    public func requestAuthorization(_ requirement: Requirement) async throws {
      try await LocationPrompt.ask(requirement)
    }
  }

  extension LocationAuthorization.Status {
    init(_ status: CLAuthorizationStatus) {
      switch status {
      case .notDetermined: self = .notDetermined
      case .restricted: self = .restricted
      case .denied: self = .denied
      #if !os(macOS)
        case .authorizedWhenInUse: self = .whenInUse
      #endif
      #if !os(visionOS)
        case .authorizedAlways: self = .always
      #endif
      default: self = .denied
      }
    }
  }

  /// A request for permission that Core Location shows to the user.
  private final class LocationPrompt: NSObject, CLLocationManagerDelegate {
    private let changes: AsyncStream<LocationAuthorization.Status>.Continuation

    private init(_ changes: AsyncStream<LocationAuthorization.Status>.Continuation) {
      self.changes = changes
    }

    /// Receives the initial status and each change from Core Location.
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
      changes.yield(LocationAuthorization.Status(manager.authorizationStatus))
    }

    /// Asks the user for permission, and waits for a status that differs from the previous one.
    @MainActor static func ask(_ requirement: LocationAuthorization.Requirement) async throws {
      let (statuses, changes) = AsyncStream.makeStream(of: LocationAuthorization.Status.self)
      // The manager needs the main thread's run loop and does not retain its delegate.
      let (manager, prompt) = (CLLocationManager(), LocationPrompt(changes))
      let before = LocationAuthorization.Status(manager.authorizationStatus)
      guard before == .notDetermined || before == .whenInUse else { return }
      manager.delegate = prompt
      defer { manager.delegate = nil }
      switch requirement {
      case .whenInUse: manager.requestWhenInUseAuthorization()
      case .always:
        #if os(tvOS) || os(visionOS)
          guard before == .notDetermined else { return }
          manager.requestWhenInUseAuthorization()
        #else
          manager.requestAlwaysAuthorization()
        #endif
      }
      for await status in statuses where status != before { return }
      throw CancellationError()
    }
  }
#endif
