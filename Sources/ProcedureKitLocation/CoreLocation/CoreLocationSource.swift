#if canImport(CoreLocation)
  public import CoreLocation

  /// A source of locations from Core Location on Apple platforms.
  ///
  /// The app needs the user's authorization. Add the condition `.authorized(for: LocationAuthorization(), .whenInUse)` to the procedure,
  /// and state the reason in the app's `Info.plist`.
  public struct CoreLocationSource: LocationSource {
    /// The kind of movement for which Core Location optimizes its updates.
    public var configuration: CLLocationUpdate.LiveConfiguration

    /// Creates a source that starts locating the device when ``locations()`` is called.
    public init(_ configuration: CLLocationUpdate.LiveConfiguration = .default) {
      self.configuration = configuration
    }

    /// Starts locating the device, and returns the locations as they arrive.
    ///
    /// The sequence throws ``LocationError/Kind-swift.struct/unauthorized`` if the user or the system refuses access.
    public func locations() -> any AsyncSequence<Location, any Error> {
      CLLocationUpdate.liveUpdates(configuration).compactMap { update throws in
        if update.authorizationDenied || update.authorizationDeniedGlobally || update.authorizationRestricted {
          throw LocationError(
            .unauthorized,
            "the app is not authorized to use the device's location. Authorize the app in the system settings.")
        }
        return update.location.map(Location.init)
      }
    }
  }

  extension Location {
    /// Creates a location from a `CLLocation`. A negative accuracy, speed or course means that the value is unknown.
    public init(_ location: CLLocation) {
      func known(_ value: Double, _ error: Double) -> Double? { error < 0 ? nil : value }
      self.init(
        latitude: location.coordinate.latitude, longitude: location.coordinate.longitude,
        horizontalAccuracy: known(location.horizontalAccuracy, location.horizontalAccuracy),
        altitude: known(location.altitude, location.verticalAccuracy),
        verticalAccuracy: known(location.verticalAccuracy, location.verticalAccuracy),
        speed: known(location.speed, location.speed), course: known(location.course, location.course),
        timestamp: location.timestamp)
    }
  }
#endif
