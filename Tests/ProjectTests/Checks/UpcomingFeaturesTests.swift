import Foundation
import Testing

@Suite struct UpcomingFeaturesTests {
  @Test("Every target enables every upcoming feature of the compiler, and no other")
  func manifest() throws {
    let supported = try UpcomingFeatures.supported(report: UpcomingFeatures.reportOfCompiler(), after: 6)
    Finding.record(UpcomingFeatures.findings(in: Checkout.manifest, supported: supported))
  }

  @Test("Missing, misspelt and repeated features are found, and targets without the settings")
  func mistakes() throws {
    let report = #"""
      {"features": {"upcoming": [{"name": "Old", "enabled_in": "6"}, {"name": "A", "enabled_in": "7"},
        {"name": "B", "migratable": true, "enabled_in": "7"}, {"name": "C"}]}}
      """#
    let supported = try UpcomingFeatures.supported(report: Data(report.utf8), after: 6)
    #expect(supported == ["A", "B", "C"])

    let text = #"""
      let settings: [SwiftSetting] = [
        .enableUpcomingFeature("A"), .enableUpcomingFeature("Bee"), .enableUpcomingFeature("A"),
        // .enableUpcomingFeature("C"),
      ]
      let package = Package(targets: [
        .target(name: "Core", dependencies: [.target(name: "Other", swiftSettings: settings)], swiftSettings: settings),
        .executableTarget(name: "run", path: "Examples/Run", swiftSettings: settings), .testTarget(name: "CoreTests"),
      ])
      """#
    let manifest = Manifest(SourceFile("Package.swift", text))
    #expect(manifest.targets.map(\.folder) == ["Sources/Core", "Sources/Other", "Examples/Run", "Tests/CoreTests"])
    #expect(
      UpcomingFeatures.findings(in: manifest, supported: supported).map(\.message) == [
        "does not enable B, which the compiler knows", "does not enable C, which the compiler knows",
        "enables A twice", "enables Bee, which the compiler does not know or always enables",
        "gives CoreTests settings other than its own array",
      ])
  }
}
