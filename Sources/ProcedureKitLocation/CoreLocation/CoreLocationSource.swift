#if canImport(CoreLocation)
  public import CoreLocation

  /// The locations that Core Location measures, on Apple's platforms.
  ///
  /// The app needs the user's authorization: add the condition `.authorized(for: LocationAuthorization(), .whenInUse)`, and state the
  /// reason in the app's `Info.plist`.
  public struct CoreLocationSource: LocationSource {
    /// The kind of movement that Core Location is optimized for.
    public var configuration: CLLocationUpdate.LiveConfiguration

    /// Creates a source. Measuring begins with ``locations()``.
    public init(_ configuration: CLLocationUpdate.LiveConfiguration = .default) {
      self.configuration = configuration
    }

    /// Starts measuring, and returns the locations as they arrive.
    ///
    /// The sequence throws ``LocationError/Kind-swift.struct/unauthorized`` if the user or the system refuses.
    public func locations() -> any AsyncSequence<Location, any Error> {
      CLLocationUpdate.liveUpdates(configuration).compactMap { update throws in
        if update.authorizationDenied || update.authorizationDeniedGlobally || update.authorizationRestricted {
          throw LocationError(
            .unauthorized, "the program is not authorized to use the location. Authorize it in the system settings.")
        }
        return update.location.map(Location.init)
      }
    }
  }

  extension Location {
    /// Creates a location from a `CLLocation`, in which negative errors, speeds and courses mean that there is no value.
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
