// swift-tools-version: 6.3
import PackageDescription

let package = Package(
  name: "MyApp",
  platforms: [.macOS(.v15), .iOS(.v18)],  // or tvOS 18, watchOS 11, visionOS 2; Linux needs no entry
  dependencies: [.package(name: "ProcedureKit", path: "../ProcedureKit")],  // a checkout beside the folder MyApp
  targets: [
    .executableTarget(name: "MyApp", dependencies: [.product(name: "ProcedureKit", package: "ProcedureKit")]),
    .testTarget(
      name: "MyAppTests", dependencies: ["MyApp", .product(name: "TestingProcedureKit", package: "ProcedureKit")]),
  ]
)
