import TestSupport
import Testing

/// The imports that are allowed in each module. The longest matching key counts, and a key can be a single file.
@Suite struct ImportsTests {
  static let allowed: [String: Set<String>] = [
    "Sources/ProcedureKit": ["Synchronization"],
    "Sources/ProcedureKit/Observability/StandardErrorLogHandler.swift": [
      "Darwin", "Glibc", "Musl", "Android", "WinSDK",
    ],
    "Sources/ProcedureKitRemote": ["ProcedureKit", "ProcedureKitFoundation", "Foundation"],
    "Sources/ProcedureKitFoundation": ["ProcedureKit", "Foundation", "Observation", "Synchronization"],
    "Sources/ProcedureKitDurable": ["ProcedureKit", "ProcedureKitFoundation", "Foundation"],
    "Sources/ProcedureKitDurable/Journal/FileJournal.swift": [
      "ProcedureKit", "ProcedureKitFoundation", "Dispatch", "Foundation",
    ],
    "Sources/ProcedureKitNetwork/Reachability/Condition+Network.swift": ["ProcedureKit", "Network"],
    "Sources/ProcedureKitNetwork": [
      "ProcedureKit", "LoadedLibraries", "Synchronization", "Foundation", "FoundationNetworking",
    ],
    "Sources/ProcedureKitProcess": ["ProcedureKit", "Synchronization", "Dispatch", "Foundation"],
    "Sources/ProcedureKitDiagnostics/Logging/UnifiedLogHandler.swift": ["ProcedureKit", "os"],
    "Sources/ProcedureKitDiagnostics/Signposts": ["ProcedureKit", "os"],
    "Sources/ProcedureKitDiagnostics": ["ProcedureKit", "Synchronization", "Dispatch", "Foundation"],
    "Sources/ProcedureKitPacing": ["ProcedureKit", "Synchronization"],
    "Sources/ProcedureKitLocation": ["ProcedureKit", "Synchronization", "Foundation"],
    "Sources/ProcedureKitLocation/CoreLocation": ["ProcedureKit", "Foundation", "CoreLocation"],
    "Sources/ProcedureKitLocation/GPSD/StreamSocket.swift": ["Foundation", "Darwin", "Glibc", "Musl", "Android"],
    "Sources/Adapters/ProcedureKitMac": ["ProcedureKit", "ProcedureKitProcess", "AppKit", "Foundation"],
    "Sources/Adapters/ProcedureKitMobile": ["ProcedureKit", "BackgroundTasks", "UIKit", "Foundation"],
    "Sources/Adapters/ProcedureKitCloud": ["ProcedureKit", "CloudKit", "Foundation"],
    "Sources/Adapters/ProcedureKitCoreData": ["ProcedureKit", "CoreData"],
    "Sources/Adapters/ProcedureKitCalendar": ["ProcedureKit", "EventKit"],
    "Sources/Adapters/ProcedureKitContacts": ["ProcedureKit", "Contacts"],
    "Sources/Adapters/ProcedureKitPhotos": ["ProcedureKit", "Photos"],
    "Sources/Adapters/ProcedureKitHealth": ["ProcedureKit", "HealthKit"],
    "Sources/Adapters/ProcedureKitNotifications": [
      "ProcedureKit", "AppKit", "Foundation", "Synchronization", "UIKit", "UserNotifications",
    ],
    "Sources/Adapters/ProcedureKitWallet": ["ProcedureKit", "PassKit"],
    "Sources/ProcedureKit/Support/ExploredLocks.swift": ["ExploredLocks"],
    "Sources/ExploredLocks": ["Synchronization"],
    "Sources/TestingProcedureKit": ["ExploredLocks", "ProcedureKit", "Synchronization", "Testing"],
    "Sources/TestingProcedureKit/Traits/TestProcess.swift": ["Foundation"],  // environment variables, files of seeds
    "Sources/TestingProcedureKit/Exploration/Runtime/ScheduleExecutor+Waiting.swift": ["_Concurrency"],  // waits
    "Sources/TestingProcedureKit/Exploration/Runtime/ResumePoint.swift": ["Runtime", "Synchronization"],
    "Sources/TestingProcedureKit/Exploration/Runtime/Platform.swift": [
      "Darwin", "Dispatch", "Glibc", "Musl", "Android", "Synchronization", "WinSDK",
    ],
  ]

  static func findings(in files: [TextFile]) -> [String] {
    files.flatMap { file -> [String] in
      let keys = allowed.keys.filter { file.path == $0 || file.path.hasPrefix($0 + "/") }
      guard let key = keys.max(by: { $0.count < $1.count }) else { return ["\(file.path): a module without a rule"] }
      return file.findings { line in
        guard line.has("import "),
          let match = line.firstMatch(of: /import (?:(?:class|enum|func|protocol|struct|typealias|var) )?(\w+)/)
        else { return nil }
        return allowed[key, default: []].contains(String(match.1)) ? nil : "imports \(match.1)"
      }
    }
  }

  @Test("Each module imports only what the design allows")
  func sources() throws {
    let files = try Checkout.files(under: "Sources")
    #expect(Self.findings(in: files) == [])
  }

  @Test(
    "Other imports are found",
    arguments: [
      "import Foundation", "@testable import Foundation", "public import Dispatch", "import struct Foundation.Date",
      "import TestingProcedureKit", "#if canImport(Glibc)\n  import Glibc\n#endif",
    ])
  func others(_ source: String) {
    let text = "import Synchronization\n// import Glibc\n" + source
    #expect(Self.findings(in: [TextFile("Sources/ProcedureKit/A.swift", text)]).count == 1)
    #expect(Self.findings(in: [TextFile("Sources/New/A.swift", "")]).count == 1)
  }
}
