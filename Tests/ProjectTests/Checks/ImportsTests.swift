import Testing

@Suite struct ImportsTests {
  static let allowed: [String: Set<String>] = [
    "ProcedureKit": ["Synchronization"],
    // The explorer tells threads apart, for which it needs the platform's own module.
    "TestingProcedureKit": ["ProcedureKit", "Synchronization", "Darwin", "Glibc", "Musl", "Android", "WinSDK"],
    "ProcedureKitFoundation": ["ProcedureKit", "Foundation"],
    "ProcedureKitNetwork": ["ProcedureKit", "Synchronization", "Foundation", "FoundationNetworking"],
    "ProcedureKitProcess": ["ProcedureKit", "Synchronization", "Foundation"],
    "ProcedureKitDiagnostics": ["ProcedureKit", "Synchronization", "Foundation"],
  ]

  @Test("Each module imports what the design allows it, the core nothing but Synchronization")
  func sources() {
    Finding.record(Imports.findings(in: Checkout.files(under: "Sources"), allowed: Self.allowed))
  }

  @Test(
    "Other imports are found",
    arguments: [
      "import Foundation", "@testable import Foundation", "public import Dispatch", "import struct Foundation.Date",
      "#if canImport(Darwin)\nimport Darwin\n#endif", "import Foundation.NSDate",
    ])
  func others(_ source: String) {
    let file = SourceFile("Sources/ProcedureKit/A.swift", "import Synchronization\n// import Glibc\n" + source)
    #expect(Imports.findings(in: [file], allowed: Self.allowed).count == 1)
  }

  @Test("A module that the list forgets is found")
  func unknownModule() {
    #expect(Imports.findings(in: [SourceFile("Sources/New/A.swift", "")], allowed: Self.allowed).count == 1)
  }
}
