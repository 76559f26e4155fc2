// swift-tools-version: 6.2
import PackageDescription

/// Tests of the core with explored locks; a package of its own, since a trait holds for a whole build.
///
/// `swift test --package-path Tests/ExploredEngine --scratch-path .build-explored`
let package = Package(
  name: "ExploredEngine",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "ProcedureKit", path: "../..", traits: ["ExploredLocks"])],
  targets: [
    .testTarget(
      name: "ExploredEngineTests",
      dependencies: [.product(name: "TestingProcedureKit", package: "ProcedureKit")],
      path: "ExploredEngineTests",
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
