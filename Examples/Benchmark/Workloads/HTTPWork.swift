import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// N1 and N2: HTTP, compared with the program `curl`.
///
/// The server belongs to this process, unless the environment variable `BENCHMARK_SERVER` names another: `http://127.0.0.1:8080`. That server
/// must answer `/1` and so on with ``body``, and `/long/N` with N MiB.
enum HTTPWork {
  private struct CurlFailed: Error, CustomStringConvertible {
    let status: Int32

    var description: String {
      status == 127 ? "the program curl is missing" : "curl has ended with the status \(status)"
    }
  }

  /// Whether the program `curl` exists.
  static let hasCurl = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    .contains { FileManager.default.isExecutableFile(atPath: "\($0)/curl") }

  private static let width = 64

  /// N1: small bodies, a limited number at a time, over persistent connections.
  static let small = [
    Contestant(.bare("curl")) { units in
      Trial(units: units) {
        try await withServer { server in
          try await withFolder { folder in
            let list = (1...units).map { "url = \"\(server.appending(path: "\($0)"))\"\noutput = \"/dev/null\"\n" }
              .joined()
            let file = folder.appending(path: "list")
            try Data(list.utf8).write(to: file)
            try await curl("--parallel", "--parallel-max", "\(width)", "--config", file.path)
          }
          for _ in 1...units { Tally.note() }
        }
      }
    },
    Contestant(.procedureKit("load")) { units in
      let queue = ProcedureQueue("load", maxConcurrentProcedures: width)
      return Trial(units: units) {
        try await withServer { server in
          let load = NetworkDataProcedure("load")
          // Not `load.map`, which would add a layer of modifiers to each GET, and not a check of all responses at the end: curl keeps none.
          let loadAndCheck = ProcedureTask("load") { (request: URLRequest) in
            Tally.note()
            let response = try await load.execute(request)
            guard response.payload.count == body.count else { throw URLError(.badServerResponse) }
          }
          let requests = (1...units).map { URLRequest(url: server.appending(path: "\($0)")) }
          _ = try await queue.map(requests, with: loadAndCheck)
        }
      }
    },
  ]

  /// N2: one long body, written to a file; a unit is a mebibyte.
  static let large = [
    Contestant(.bare("curl -o")) { units in
      Trial(units: units) {
        try await withServer { server in
          try await withFolder { folder in
            let file = folder.appending(path: "body")
            try await curl("--output", file.path, server.appending(path: "long/\(units)").absoluteString)
            try check(file, units)
          }
        }
      }
    },
    Contestant(.procedureKit("download")) { units in
      Trial(units: units) {
        try await withServer { server in
          try await withFolder { folder in
            let file = folder.appending(path: "body")
            let download = NetworkDownloadProcedure("download", to: file)
            _ = try await download(URLRequest(url: server.appending(path: "long/\(units)")))
            try check(file, units)
          }
        }
      }
    },
  ]

  private static let body = Data("a kitten, and not much else".utf8)
  private static let piece = Data(repeating: 0x2e, count: 1 << 20)

  private static let otherServer = ProcessInfo.processInfo.environment["BENCHMARK_SERVER"].flatMap { URL(string: $0) }

  private static func withServer(_ body: (URL) async throws -> Void) async throws {
    if let otherServer { return try await body(otherServer) }
    let server = try LoopbackServer(keepsConnections: true) { request in
      guard request.path.hasPrefix("/long/"), let count = Int(request.path.dropFirst(6)) else { return .ok(Self.body) }
      // The client receives as much as the head announces, and disconnects.
      var response = ServerResponse.endless(piece)
      response.headers = ["Content-Length": "\(count << 20)", "Connection": "close"]
      return response
    }
    defer { server.stop() }
    try await body(server.url("/"))
  }

  private static func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  private static func check(_ file: URL, _ units: Int) throws {
    let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
    guard size == units << 20 else { throw URLError(.badServerResponse) }
    for _ in 1...units { Tally.note() }
  }

  private static func curl(_ arguments: String...) async throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["curl", "--no-progress-meter", "--fail"] + arguments
    process.standardInput = FileHandle.nullDevice
    let status: Int32 = try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
    guard status == 0 else { throw CurlFailed(status: status) }
  }
}
