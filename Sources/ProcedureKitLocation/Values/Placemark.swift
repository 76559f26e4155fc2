/// An address. Any part that the service does not provide is `nil`.
public struct Placemark: Hashable, Codable, Sendable {
  /// The name of the place.
  public var name: String?
  /// The street.
  public var street: String?
  /// The house number.
  public var number: String?
  /// The postal code.
  public var postalCode: String?
  /// The city.
  public var locality: String?
  /// The state or province.
  public var region: String?
  /// The country.
  public var country: String?
  /// The two-letter ISO 3166 country code.
  public var countryCode: String?

  /// Creates an address.
  public init(
    name: String? = nil, street: String? = nil, number: String? = nil, postalCode: String? = nil,
    locality: String? = nil, region: String? = nil, country: String? = nil, countryCode: String? = nil
  ) {
    (self.name, self.street, self.number, self.postalCode) = (name, street, number, postalCode)
    (self.locality, self.region, self.country, self.countryCode) = (locality, region, country, countryCode)
  }
}
