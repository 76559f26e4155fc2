#if canImport(CoreLocation)
  import CoreLocation
  import Foundation
  public import ProcedureKit

  /// The permission to know where the device is, as a capability.
  ///
  /// ```swift
  /// let locate = UserLocation(from: CoreLocationSource(), accuracy: 50)
  ///   .condition(.authorized(for: LocationAuthorization(), .whenInUse))
  /// ```
  public struct LocationAuthorization: Capability, Hashable {
    /// When the program has to know the location.
    public enum Requirement: Hashable, Sendable {
      /// While the program is in use.
      case whenInUse
      /// Also in the background. tvOS and visionOS have no such permission: a request there changes nothing.
      case always
    }

    /// What the program may know.
    public enum Status: AuthorizationStatus, Hashable {
      /// Nobody has been asked.
      case notDetermined
      /// The system forbids it, by parental control for example.
      case restricted
      /// The person has refused.
      case denied
      /// The location while the program is in use.
      case whenInUse
      /// The location at any time.
      case always

      /// Returns whether the status allows what is required.
      public func meets(_ requirement: Requirement) -> Bool {
        switch requirement {
        case .whenInUse: self == .whenInUse || self == .always
        case .always: self == .always
        }
      }
    }

    /// Creates the capability.
    public init() {}

    /// Returns whether the device has location services, and these are on.
    public func isAvailable() async -> Bool { CLLocationManager.locationServicesEnabled() }

    /// Returns what the program may know, without asking anybody.
    public func authorizationStatus() async -> Status {
      await MainActor.run { Status(CLLocationManager().authorizationStatus) }
    }

    /// Asks the person, and returns when the status has changed. A cancel ends the wait.
    ///
    /// The system does not report that a person keeps "while in use" when asked for more, so that this wait ends with a timeout only.
    ///
    /// - Throws: `CancellationError`.
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

  /// One question of Core Location to the person.
  private final class LocationPrompt: NSObject, CLLocationManagerDelegate {
    private let changes: AsyncStream<LocationAuthorization.Status>.Continuation

    private init(_ changes: AsyncStream<LocationAuthorization.Status>.Continuation) {
      self.changes = changes
    }

    /// Reports the status at the beginning, and each change.
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
      changes.yield(LocationAuthorization.Status(manager.authorizationStatus))
    }

    /// Asks, and waits for an answer that differs from the status before.
    @MainActor static func ask(_ requirement: LocationAuthorization.Requirement) async throws {
      let (statuses, changes) = AsyncStream.makeStream(of: LocationAuthorization.Status.self)
      // The manager needs the run loop of the main thread, and does not keep its delegate.
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
