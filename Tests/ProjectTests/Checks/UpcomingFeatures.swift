import Foundation

/// The features that this compiler has and that only a later language mode turns on.
///
/// The compiler ignores a feature that it does not know, so a misspelt one is off without a word.
enum UpcomingFeatures {
  /// What the compiler says of itself under `-print-supported-features`.
  private struct Report: Decodable {
    struct Features: Decodable {
      let upcoming: [Feature]
    }

    struct Feature: Decodable {
      let name: String
      let enabledIn: String?

      enum CodingKeys: String, CodingKey {
        case name
        case enabledIn = "enabled_in"
      }
    }

    let features: Features
  }

  /// The features that a report lists and that are still off in a language mode.
  static func supported(report: Data, after mode: Int) throws -> Set<String> {
    let features = try JSONDecoder().decode(Report.self, from: report).features.upcoming
    return Set(features.filter { ($0.enabledIn.flatMap { Int($0) } ?? .max) > mode }.map(\.name))
  }

  /// Asks the compiler on the path.
  static func reportOfCompiler() throws -> Data {
    let compiler = Process()
    let output = Pipe()
    compiler.executableURL = URL(filePath: "/usr/bin/env")
    compiler.arguments = ["swiftc", "-print-supported-features"]
    compiler.standardOutput = output
    try compiler.run()
    let report = try output.fileHandleForReading.readToEnd() ?? Data()
    compiler.waitUntilExit()
    return report
  }

  static func findings(in manifest: Manifest, supported: Set<String>) -> [Finding] {
    let enabled = manifest.upcomingFeatures
    let repeated = Set(enabled.filter { name in enabled.count { $0 == name } > 1 })
    let messages =
      supported.subtracting(enabled).map { "does not enable \($0), which the compiler knows" }
      + Set(enabled).subtracting(supported).map { "enables \($0), which the compiler does not know or always enables" }
      + repeated.map { "enables \($0) twice" }
    let targets = manifest.targets.filter { $0.settings != "settings" }.map { target in
      Finding(
        path: "Package.swift", line: target.line, message: "gives \(target.name) settings other than its own array")
    }
    return messages.sorted().map { Finding(path: "Package.swift", line: 1, message: $0) } + targets
  }
}
