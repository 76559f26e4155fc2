import Foundation
import ProcedureKit
import ProcedureKitNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// N1 and N2: HTTP, compared with `curl`.
enum HTTPWork {
  private struct NoServer: Error, CustomStringConvertible {
    var description: String { "no HTTP server is running" }
  }

  private struct CurlFailed: Error, CustomStringConvertible {
    let status: Int32

    var description: String {
      status == 127 ? "curl is not installed" : "curl exited with status \(status)"
    }
  }

  /// Whether `curl` is installed.
  static let hasCurl = Program.path(of: "curl") != nil

  /// The address of the server. Tests bind a different address.
  @TaskLocal static var server = HTTPServer.running

  private static let width = 64

  /// N1: small bodies, a limited number at a time, over persistent connections.
  static let small = [
    Contestant(.bare("load")) { units in
      trial(units) { server, folder in
        let list = (1...units).map { "url = \"\(server.appending(path: "\($0)"))\"\noutput = \"/dev/null\"\n" }
          .joined()
        let file = folder.appending(path: "list")
        try Data(list.utf8).write(to: file)
        try await curl("--parallel", "--parallel-max", "\(width)", "--config", file.path)
        for _ in 1...units { Tally.note() }
      }
    },
    Contestant(.procedureKit("load")) { units in
      let queue = ProcedureQueue("load", maxConcurrentProcedures: width)
      let load = NetworkDataProcedure("load")
      // The body checks each response. `load.map` would add a layer of modifiers to each GET. Checking all responses after the last one
      // would mean keeping them in memory, which curl does not do.
      let loadAndCheck = ProcedureTask("load") { (request: URLRequest) in
        Tally.note()
        let response = try await load.execute(request)
        guard response.payload.count == HTTPServer.body.utf8.count else { throw URLError(.badServerResponse) }
      }
      return trial(units) { server, _ in
        let requests = (1...units).map { URLRequest(url: server.appending(path: "\($0)")) }
        _ = try await queue.map(requests, with: loadAndCheck)
      }
    },
  ]

  /// N2: one long body that is written to a file. A unit is a mebibyte.
  static let large = [
    Contestant(.bare("download")) { units in
      trial(units) { server, folder in
        let file = folder.appending(path: "body")
        try await curl("--output", file.path, server.appending(path: "long/\(units)").absoluteString)
        try check(file, units)
      }
    },
    Contestant(.procedureKit("download")) { units in
      trial(units) { server, folder in
        let file = folder.appending(path: "body")
        let download = NetworkDownloadProcedure("download", to: file)
        _ = try await download(URLRequest(url: server.appending(path: "long/\(units)")))
        try check(file, units)
      }
    },
  ]

  private static func trial(
    _ units: Int, _ work: @escaping @Sendable (_ server: URL, _ folder: URL) async throws -> Void
  ) -> Trial {
    Trial(units: units) {
      guard let server else { throw NoServer() }
      try await withTemporaryFolder { try await work(server, $0) }
    }
  }

  private static func check(_ file: URL, _ units: Int) throws {
    let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
    guard size == units << 20 else { throw URLError(.badServerResponse) }
    for _ in 1...units { Tally.note() }
  }

  private static func curl(_ arguments: String...) async throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["curl", "--no-progress-meter", "--fail", "--fail-early"] + arguments
    process.standardInput = FileHandle.nullDevice
    let status: Int32 = try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
    guard status == 0 else { throw CurlFailed(status: status) }
  }
}
