#if canImport(CoreLocation)
  import CoreLocation
  public import ProcedureKit

  /// A procedure that uses Apple's geocoding service to find the address of a location.
  ///
  /// ```swift
  /// let address = UserLocation(from: CoreLocationSource()).then(ReverseGeocode())
  /// ```
  ///
  /// Because Apple limits the rate of requests, reuse an address for nearby locations, and add a `rateLimited` modifier to the procedure.
  public struct ReverseGeocode: Procedure {
    /// Creates the procedure.
    public init() {}

    /// Requests the address. Cancellation does not stop the request, but the result is then ignored.
    ///
    /// - Parameter location: The location.
    /// - Returns: The address.
    /// - Throws: ``LocationError/Kind-swift.struct/noPlacemark`` if the service has no address for the location; `CLError` if the request
    ///   fails.
    public func execute(_ location: Location) async throws -> Placemark {
      let place = CLLocation(latitude: location.latitude, longitude: location.longitude)
      guard let found = try await CLGeocoder().reverseGeocodeLocation(place).first else {
        throw LocationError(
          .noPlacemark, "no address was found for \(location.latitude), \(location.longitude).")
      }
      return Placemark(
        name: found.name, street: found.thoroughfare, number: found.subThoroughfare, postalCode: found.postalCode,
        locality: found.locality, region: found.administrativeArea, country: found.country,
        countryCode: found.isoCountryCode)
    }
  }
#endif
