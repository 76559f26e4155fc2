import Foundation
import TestSupport
import Testing

@Suite struct ManifestTests {
  static func code(_ manifest: String) -> String {
    manifest.components(separatedBy: "\n").filter { !$0.trimmed.hasPrefix("//") }.joined(separator: "\n")
  }

  static func features(in manifest: String) -> [String] {
    code(manifest).matches(of: /enableUpcomingFeature\("(\w+)"\)/).map { String($0.1) }.sorted()
  }

  /// Returns the targets whose settings differ from the array with the features.
  static func targetsWithoutSettings(in manifest: String) -> [String] {
    let targets = code(manifest).split(separator: /\.(?:target|executableTarget|testTarget)\(\s*name: "/).dropFirst()
    return targets.filter { !$0.contains(/swiftSettings: settings\W/) }.map { String($0.prefix { $0 != "\"" }) }
  }

  /// One of the features that the compiler lists under `-print-supported-features`.
  private struct Feature: Decodable {
    let name: String
    let enabledIn: String?
  }

  /// Returns the features in a report that are still off in language mode 6. A misspelt feature is off without a warning.
  static func upcoming(in report: Data) throws -> [String] {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let features = try decoder.decode([String: [String: [Feature]]].self, from: report)["features"]?["upcoming"] ?? []
    return features.filter { $0.enabledIn.flatMap { Int($0) } ?? .max > 6 }.map(\.name).sorted()
  }

  @Test("Every target enables every upcoming feature of the compiler, and no other")
  func project() throws {
    let (compiler, output) = (Process(), Pipe())
    compiler.executableURL = URL(filePath: "/usr/bin/env")
    compiler.arguments = ["swiftc", "-print-supported-features"]
    compiler.standardOutput = output
    try compiler.run()
    let upcoming = try Self.upcoming(in: output.fileHandleForReading.readToEnd() ?? Data())
    let manifest = try Checkout.text(of: "Package.swift")
    #expect(Self.features(in: manifest) == upcoming)
    // The C targets have no Swift features.
    #expect(Self.targetsWithoutSettings(in: manifest) == ["LoadedLibraries", "TestWidth"])
  }

  @Test("The manifest and the compiler's report are read")
  func reading() throws {
    let report = """
      {"features": {"upcoming": [{"name": "B", "migratable": true, "enabled_in": "7"}, {"name": "A"},
        {"name": "Old", "enabled_in": "6"}], "experimental": [{"name": "C"}]}}
      """
    #expect(try Self.upcoming(in: Data(report.utf8)) == ["A", "B"])

    let manifest = """
      .enableUpcomingFeature("Bee"), .enableUpcomingFeature("A"),
        // .enableUpcomingFeature("C"),
      let package = Package(targets: [
        .target(name: "Core", dependencies: ["Other"], swiftSettings: settings), .testTarget(name: "CoreTests"),
        .executableTarget(
          name: "run", path: "Examples/Run", swiftSettings: others)])
      """
    #expect(Self.features(in: manifest) == ["A", "Bee"])
    #expect(Self.targetsWithoutSettings(in: manifest) == ["CoreTests", "run"])
  }
}
