public import Foundation

/// A position on Earth at a point in time, as determined by a source.
public struct Location: Hashable, Codable, Sendable {
  /// The latitude in degrees (WGS 84), from -90 to 90; positive north of the equator.
  public var latitude: Double
  /// The longitude in degrees (WGS 84), from -180 to 180; positive east of the prime meridian.
  public var longitude: Double
  /// The source's estimate of the horizontal error, in metres; `nil` if the source does not provide one.
  ///
  /// The true position is within a circle of this radius with a probability of 95% for gpsd, and of about 68% for Core Location.
  public var horizontalAccuracy: Double?
  /// The height in metres above mean sea level. Like all optional properties of a location, it is `nil` if the source does not provide it.
  public var altitude: Double?
  /// The source's estimate of the vertical error, in metres.
  public var verticalAccuracy: Double?
  /// The speed over ground in metres per second.
  public var speed: Double?
  /// The direction of movement in degrees, clockwise from true north.
  public var course: Double?
  /// The time at which the location was determined.
  public var timestamp: Date

  /// Creates a location.
  public init(
    latitude: Double, longitude: Double, horizontalAccuracy: Double? = nil, altitude: Double? = nil,
    verticalAccuracy: Double? = nil, speed: Double? = nil, course: Double? = nil, timestamp: Date
  ) {
    (self.latitude, self.longitude, self.horizontalAccuracy) = (latitude, longitude, horizontalAccuracy)
    (self.altitude, self.verticalAccuracy) = (altitude, verticalAccuracy)
    (self.speed, self.course, self.timestamp) = (speed, course, timestamp)
  }
}
