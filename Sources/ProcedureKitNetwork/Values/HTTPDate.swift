import Foundation

/// A parser for dates in header fields. Such a date has one of the three formats in RFC 9110, section 5.6.7.
enum HTTPDate {
  /// Parses a date. A two-digit year is interpreted as a year from 1970 to 2069.
  ///
  /// - Returns: `nil` if the text has none of the three formats.
  static func date(from text: String) -> Date? {
    let words = text.split { " ,-".contains($0) }.map(String.init)
    guard words.count >= 5 else { return nil }
    // Sun, 06 Nov 1994 08:49:37 GMT · Sunday, 06-Nov-94 08:49:37 GMT · Sun Nov  6 08:49:37 1994
    let isTimeLast = words[4].contains(":")
    guard isTimeLast ? words.count == 6 && words[5] == "GMT" : words.count == 5 else { return nil }
    let (day, month, year) = isTimeLast ? (words[1], words[2], words[3]) : (words[2], words[1], words[4])
    return date(day: day, month: month, year: year, time: words[isTimeLast ? 4 : 3])
  }

  private static func date(day: String, month: String, year: String, time: String) -> Date? {
    let clock = time.split(separator: ":").compactMap { Int($0) }
    // A year with more than four digits is invalid, and could be too far away for a `Duration`.
    guard year.count <= 4, let day = Int(day), let month = months.firstIndex(of: month), var number = Int(year),
      clock.count == 3,
      (1...31).contains(day), (0...23).contains(clock[0]), (0...59).contains(clock[1]), (0...60).contains(clock[2])
    else { return nil }
    if year.count == 2 { number += number < 70 ? 2000 : 1900 }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar.date(
      from: DateComponents(
        year: number, month: month + 1, day: day, hour: clock[0], minute: clock[1], second: clock[2]))
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

extension TimeZone {
  fileprivate static let gmt = TimeZone(secondsFromGMT: 0) ?? .current
}
