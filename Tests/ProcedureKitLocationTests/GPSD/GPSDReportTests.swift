import Foundation
import Testing

@testable import ProcedureKitLocation

@Suite struct GPSDReportTests {
  private func location(_ fields: String) throws -> Location? {
    guard case .location(let location, _) = try GPSDReport(Data("{\"class\":\"TPV\",\(fields)}".utf8)) else {
      return nil
    }
    return location
  }

  @Test(
    "A report without a fix, a position or a time has no location",
    arguments: [
      #""mode":0"#, #""mode":1,"time":"2026-11-08T10:35:11.000Z""#,
      #""mode":1,"lat":1,"lon":2,"time":"2026-11-08T10:35:11.000Z""#,
      #""mode":3,"lat":1,"time":"2026-11-08T10:35:11.000Z""#, #""mode":3,"lat":1,"lon":2"#,
      #""mode":3,"lat":1,"lon":2,"time":"yesterday""#,
    ])
  func nothing(_ fields: String) throws {
    #expect(try location(fields) == nil)
  }

  @Test("A two-dimensional fix has no altitude, and a time can have no fraction")
  func flat() throws {
    let found = try location(#""mode":2,"lat":-33.5,"lon":-70,"altMSL":5,"epv":1,"time":"2026-11-08T10:35:11Z""#)
    #expect(
      found
        == Location(latitude: -33.5, longitude: -70, timestamp: try Date("2026-11-08T10:35:11Z", strategy: .iso8601)))
  }

  @Test("The errors and the altitude of older daemons are understood")
  func older() throws {
    let found = try location(#""mode":3,"lat":1,"lon":2,"alt":9,"epx":3,"epy":4,"time":"2026-11-08T10:35:11.250Z""#)
    #expect(found?.horizontalAccuracy == 5)
    #expect(found?.altitude == 9)
    #expect(found?.timestamp.timeIntervalSince1970.truncatingRemainder(dividingBy: 1) == 0.25)
  }

  @Test(
    "Text that is not a report throws, and classes of later daemons are skipped",
    arguments: ["", "[]", "{}", "{\"class\":1}"])
  func strangers(_ text: String) throws {
    #expect(throws: (any Error).self) { try GPSDReport(Data(text.utf8)) }
    #expect(try GPSDReport(Data(#"{"class":"NEW","mode":"x"}"#.utf8)) == .other)
  }
}
