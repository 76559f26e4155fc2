import Foundation

/// A line from gpsd.
enum GPSDReport: Equatable {
  /// The versions of the daemon and its protocol. They are always on the first line of the daemon's output.
  case version(release: String, major: Int)
  /// A location determined by a device.
  case location(Location, device: String?)
  /// A report that a request was refused.
  case error(String)
  /// A report without a location, for example about devices, satellites, or the lack of a fix.
  case other

  /// Parses a line.
  ///
  /// - Throws: `DecodingError` if the line is not a JSON object with a `class`, or if the object lacks a required member of its class.
  init(_ line: Data) throws {
    let decoder = JSONDecoder()
    switch try decoder.decode(ReportClass.self, from: line).class {
    case "VERSION":
      let version = try decoder.decode(Version.self, from: line)
      self = .version(release: version.release ?? "unknown", major: version.proto_major)
    case "TPV":
      let fix = try decoder.decode(Fix.self, from: line)
      self = fix.location.map { .location($0, device: fix.device) } ?? .other
    case "ERROR": self = .error(try decoder.decode(Refusal.self, from: line).message)
    default: self = .other
    }
  }

  private struct ReportClass: Decodable { let `class`: String }

  private struct Refusal: Decodable { let message: String }

  private struct Version: Decodable {
    let release: String?
    // swift-format-ignore: AlwaysUseLowerCamelCase
    let proto_major: Int
  }

  /// The time, the position (in degrees and metres) and the velocity (in metres per second). The properties have the same names as in the
  /// protocol.
  private struct Fix: Decodable {
    let device: String?
    let mode: Int
    let time: String?
    let lat, lon, eph, epx, epy, altMSL, alt, epv, speed, track: Double?

    /// The location; `nil` if there is no fix (the mode is below 2), no position or no time.
    var location: Location? {
      guard mode >= 2, let lat, let lon, let time, let timestamp = Self.date(time) else { return nil }
      // Before release 3.20, gpsd does not send `eph`, and calls the altitude above sea level `alt`.
      let error = eph ?? zipped(epx, epy).map { ($0 * $0 + $1 * $1).squareRoot() }
      let hasHeight = mode >= 3
      return Location(
        latitude: lat, longitude: lon, horizontalAccuracy: error, altitude: hasHeight ? altMSL ?? alt : nil,
        verticalAccuracy: hasHeight ? epv : nil, speed: speed, course: track, timestamp: timestamp)
    }

    private func zipped(_ one: Double?, _ other: Double?) -> (Double, Double)? {
      one.flatMap { one in other.map { (one, $0) } }
    }

    private static func date(_ text: String) -> Date? {
      let fraction = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
      return (try? Date(text, strategy: fraction)) ?? (try? Date(text, strategy: .iso8601))
    }
  }
}
