#if canImport(CoreLocation)
  public import CoreLocation

  /// The locations of Core Location, on Apple's systems.
  ///
  /// The program needs the authorization of the person: add the condition `.authorized(for: LocationAuthorization(), .whenInUse)`,
  /// and give the reason in the program's `Info.plist`.
  public struct CoreLocationSource: LocationSource {
    /// The kind of movement that Core Location prepares for.
    public var configuration: CLLocationUpdate.LiveConfiguration

    /// Creates a source. Nothing is measured before ``locations()``.
    public init(_ configuration: CLLocationUpdate.LiveConfiguration = .default) {
      self.configuration = configuration
    }

    /// Measures, and returns the locations as they come.
    ///
    /// The sequence throws ``LocationError/Kind-swift.struct/unauthorized`` when the person or the system refuses.
    public func locations() -> any AsyncSequence<Location, any Error> {
      CLLocationUpdate.liveUpdates(configuration).compactMap { update throws in
        if update.authorizationDenied || update.authorizationDeniedGlobally || update.authorizationRestricted {
          throw LocationError(
            .unauthorized, "the program may not know the location: allow this in the settings of the system.")
        }
        return update.location.map(Location.init)
      }
    }
  }

  extension Location {
    /// Creates a location from one of Core Location, in which negative errors, speeds and courses stand for none.
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
