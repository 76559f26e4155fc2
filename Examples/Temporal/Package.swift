// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
]

let package = Package(
  name: "Temporal",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "Temporal", targets: ["TemporalDemo"])],
  dependencies: [.package(name: "ProcedureKit", path: "../..")],
  targets: [
    .systemLibrary(
      name: "CCurl", path: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
    .target(
      name: "TemporalExecutor",
      dependencies: [
        "CCurl", .product(name: "ProcedureKit", package: "ProcedureKit"),
        .product(name: "ProcedureKitFoundation", package: "ProcedureKit"),
      ],
      path: ".", exclude: ["CCurl", "Demo", "Tests", "survive", "README.md"], sources: ["Messages", "GRPC", "Engine"],
      swiftSettings: settings),
    .executableTarget(
      name: "TemporalDemo",
      dependencies: [
        "TemporalExecutor", .product(name: "ProcedureKit", package: "ProcedureKit"),
        .product(name: "ProcedureKitFoundation", package: "ProcedureKit"),
      ],
      path: "Demo", swiftSettings: settings),
    .testTarget(name: "TemporalTests", dependencies: ["TemporalExecutor"], path: "Tests", swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
