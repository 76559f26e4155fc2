// swift-tools-version: 6.3
import PackageDescription

/// All upcoming features of the compiler. A test in `Tests/ProjectTests` compares this list with the compiler's own list.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
]

/// The privacy manifest for modules that read file metadata. The App Store requires an explanation for this.
let privacy: [Resource] = [.copy("PrivacyInfo.xcprivacy")]

/// Returns the target for an adapter in `Sources/Adapters`. Each adapter supports one of Apple's frameworks.
func adapter(_ name: String, _ more: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: ["ProcedureKit"] + more, path: "Sources/Adapters/\(name)", swiftSettings: settings)
}

let package = Package(
  name: "ProcedureKit",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "ProcedureKit", targets: ["ProcedureKit"]),
    .library(name: "ProcedureKitDurable", targets: ["ProcedureKitDurable"]),
    .library(name: "ProcedureKitRemote", targets: ["ProcedureKitRemote"]),
    .library(name: "ProcedureKitFoundation", targets: ["ProcedureKitFoundation"]),
    .library(name: "ProcedureKitNetwork", targets: ["ProcedureKitNetwork"]),
    .library(name: "ProcedureKitProcess", targets: ["ProcedureKitProcess"]),
    .library(name: "ProcedureKitDiagnostics", targets: ["ProcedureKitDiagnostics"]),
    .library(name: "ProcedureKitPacing", targets: ["ProcedureKitPacing"]),
    .library(name: "ProcedureKitLocation", targets: ["ProcedureKitLocation"]),
    .library(name: "ProcedureKitMobile", targets: ["ProcedureKitMobile"]),
    .library(name: "ProcedureKitCloud", targets: ["ProcedureKitCloud"]),
    .library(name: "ProcedureKitCoreData", targets: ["ProcedureKitCoreData"]),
    .library(name: "ProcedureKitCalendar", targets: ["ProcedureKitCalendar"]),
    .library(name: "ProcedureKitContacts", targets: ["ProcedureKitContacts"]),
    .library(name: "ProcedureKitPhotos", targets: ["ProcedureKitPhotos"]),
    .library(name: "ProcedureKitHealth", targets: ["ProcedureKitHealth"]),
    .library(name: "ProcedureKitNotifications", targets: ["ProcedureKitNotifications"]),
    .library(name: "ProcedureKitWallet", targets: ["ProcedureKitWallet"]),
    .library(name: "ProcedureKitMac", targets: ["ProcedureKitMac"]),
    .library(name: "TestingProcedureKit", targets: ["TestingProcedureKit"]),
  ],
  targets: [
    .target(name: "ProcedureKit", swiftSettings: settings),
    .target(
      name: "ProcedureKitFoundation", dependencies: ["ProcedureKit"], resources: privacy, swiftSettings: settings),
    .target(
      name: "ProcedureKitDurable", dependencies: ["ProcedureKit", "ProcedureKitFoundation"], resources: privacy,
      swiftSettings: settings),
    .target(
      name: "ProcedureKitRemote", dependencies: ["ProcedureKit", "ProcedureKitFoundation"], swiftSettings: settings),
    .target(name: "LoadedLibraries", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    .target(
      name: "ProcedureKitNetwork", dependencies: ["ProcedureKit", "LoadedLibraries"], resources: privacy,
      swiftSettings: settings),
    .target(name: "ProcedureKitProcess", dependencies: ["ProcedureKit"], swiftSettings: settings),
    .target(name: "ProcedureKitDiagnostics", dependencies: ["ProcedureKit"], swiftSettings: settings),
    .target(name: "ProcedureKitPacing", dependencies: ["ProcedureKit"], swiftSettings: settings),
    .target(name: "ProcedureKitLocation", dependencies: ["ProcedureKit"], swiftSettings: settings),
    adapter("ProcedureKitMobile"),
    adapter("ProcedureKitCloud"),
    adapter("ProcedureKitCoreData"),
    adapter("ProcedureKitCalendar"),
    adapter("ProcedureKitContacts"),
    adapter("ProcedureKitPhotos"),
    adapter("ProcedureKitHealth"),
    adapter("ProcedureKitNotifications"),
    adapter("ProcedureKitWallet"),
    adapter("ProcedureKitMac", [.byName(name: "ProcedureKitProcess", condition: .when(platforms: [.macOS]))]),
    .target(name: "ExploredLocks", swiftSettings: settings),
    .target(name: "TestingProcedureKit", dependencies: ["ProcedureKit", "ExploredLocks"], swiftSettings: settings),

    .executableTarget(
      name: "kitten",
      dependencies: ["ProcedureKit", "ProcedureKitDiagnostics", "ProcedureKitDurable", "ProcedureKitFoundation"],
      path: "Examples/Kitten",
      resources: [.copy("Resources")],
      swiftSettings: settings),
    .target(name: "LoopbackServer", path: "Examples/Crawler/LoopbackServer", swiftSettings: settings),
    .executableTarget(
      name: "Benchmark",
      dependencies: [
        "ProcedureKit", "ProcedureKitDurable", "ProcedureKitFoundation", "ProcedureKitNetwork", "ProcedureKitProcess",
        "LoopbackServer",
      ],
      path: "Examples/Benchmark",
      swiftSettings: settings),

    .executableTarget(
      name: "crawler",
      dependencies: [
        "ProcedureKit", "ProcedureKitDiagnostics", "ProcedureKitFoundation", "ProcedureKitNetwork", "LoopbackServer",
      ],
      path: "Examples/Crawler", exclude: ["LoopbackServer"], swiftSettings: settings),

    .executableTarget(
      name: "taskrunner",
      dependencies: ["ProcedureKit", "ProcedureKitDiagnostics", "ProcedureKitFoundation", "ProcedureKitProcess"],
      path: "Examples/TaskRunner", exclude: ["compare"], swiftSettings: settings),

    .executableTarget(
      name: "temporal",
      dependencies: [
        "ProcedureKit", "ProcedureKitDiagnostics", "ProcedureKitFoundation", "ProcedureKitRemote", "LoadedLibraries",
      ],
      path: "Examples/Temporal", exclude: ["README.md", "survive"], swiftSettings: settings),

    .target(name: "TestWidth", path: "Tests/TestWidth"),
    .target(
      name: "TestSupport", dependencies: ["ProcedureKit", "TestingProcedureKit", "TestWidth"],
      path: "Tests/TestSupport",
      swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitTests", dependencies: ["ProcedureKit", "TestingProcedureKit", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitFoundationTests",
      dependencies: [
        "ProcedureKitFoundation", "LoopbackServer", "TestingProcedureKit", "TestSupport", "page-sizes",
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "page-sizes", dependencies: ["ProcedureKit", "ProcedureKitFoundation"], path: "Tests/PageSizes",
      swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitDurableTests",
      dependencies: [
        "ProcedureKitDiagnostics", "ProcedureKitDurable", "ProcedureKitFoundation", "TestingProcedureKit",
        "TestSupport", "journal-worker",
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "journal-worker", dependencies: ["ProcedureKit", "ProcedureKitDurable"], path: "Tests/JournalWorker",
      swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitRemoteTests",
      dependencies: ["ProcedureKitFoundation", "ProcedureKitRemote", "TestingProcedureKit", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitNetworkTests",
      dependencies: [
        "ProcedureKitNetwork", "LoadedLibraries", "LoopbackServer", "TestingProcedureKit", "TestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitProcessTests", dependencies: ["ProcedureKitProcess", "TestingProcedureKit", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitDiagnosticsTests",
      dependencies: ["ProcedureKitDiagnostics", "TestingProcedureKit", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitPacingTests", dependencies: ["ProcedureKitPacing", "TestingProcedureKit", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "ProcedureKitLocationTests",
      dependencies: ["ProcedureKitLocation", "LoopbackServer", "TestingProcedureKit"],
      resources: [.copy("Recordings")], swiftSettings: settings),
    .testTarget(
      name: "ReadmeTests", dependencies: ["ProcedureKit", "LoopbackServer", "TestingProcedureKit"],
      swiftSettings: settings),
    .testTarget(
      name: "TestingProcedureKitTests", dependencies: ["TestingProcedureKit", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "StressTests", dependencies: ["TestingProcedureKit", "TestSupport"], swiftSettings: settings),
    .testTarget(name: "ProjectTests", dependencies: ["TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "KittenTests",
      dependencies: ["kitten", "ProcedureKit", "ProcedureKitDurable", "ProcedureKitFoundation", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "TaskRunnerTests",
      dependencies: ["taskrunner", "ProcedureKit", "ProcedureKitFoundation", "ProcedureKitProcess", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "CrawlerTests",
      dependencies: [
        "crawler", "ProcedureKit", "ProcedureKitNetwork", "LoopbackServer", "TestSupport", "TestingProcedureKit",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "TemporalTests",
      dependencies: ["temporal", "ProcedureKit", "ProcedureKitFoundation", "ProcedureKitRemote"],
      swiftSettings: settings),
    .testTarget(name: "LoopbackServerTests", dependencies: ["LoopbackServer"], swiftSettings: settings),
    .testTarget(
      name: "BenchmarkTests",
      dependencies: ["Benchmark", "ProcedureKit", "ProcedureKitNetwork", "LoopbackServer", "TestSupport"],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)

/// The package's own checks set this variable for a build in which explorations also choose the order in which the core acquires its locks.
/// The build contains only the tests of this feature.
if Context.environment["PROCEDUREKIT_EXPLORED_LOCKS"] != nil {
  let needed: Set = ["ProcedureKit", "ExploredLocks", "TestingProcedureKit"]
  package.products = []
  package.targets.removeAll { !needed.contains($0.name) }
  for target in package.targets where target.name == "ProcedureKit" {
    target.dependencies = ["ExploredLocks"]
  }
  for target in package.targets where target.name != "ExploredLocks" {
    target.swiftSettings = settings + [.define("ExploredLocks")]
  }
  package.targets.append(
    .testTarget(name: "ExploredEngineTests", dependencies: ["TestingProcedureKit"], swiftSettings: settings))
}
