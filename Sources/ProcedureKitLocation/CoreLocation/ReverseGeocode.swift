#if canImport(CoreLocation)
  import CoreLocation
  public import ProcedureKit

  /// A procedure that finds the address of a location with Apple's geocoding service.
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
    /// - Throws: ``LocationError/Kind-swift.struct/noPlacemark``; `CLError`.
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
