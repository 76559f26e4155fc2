import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import ProcedureKitProcess

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The server for N1 and N2. It runs in a separate process, because a server in the same process as one contestant would slow down only
/// that contestant.
///
/// The server is nginx if it is installed, and otherwise another instance of this program. The environment variable `BENCHMARK_SERVER` can
/// specify the address of a server that is already running, for example `http://127.0.0.1:8080`. Every server responds to `/1`, `/2` and so
/// on with ``body``, and to `/long/N` with N MiB.
struct HTTPServer: Sendable {
  private struct NotReady: Error, CustomStringConvertible {
    let name: String
    let reason: String
    let output: String

    var description: String { "the server (\(name)) does not respond: \(reason). It printed: '\(output)'" }
  }

  static let body = "a kitten, and not much else"

  /// The server's name in the report.
  let name: String
  let url: URL

  private static let variable = "BENCHMARK_SERVER"

  /// The address of a server that the user or the parent process has started.
  static let running = ProcessInfo.processInfo.environment[variable].flatMap { URL(string: $0) }

  /// The environment variable from which a contestant's process reads the address.
  var environment: [String: String] { [Self.variable: url.absoluteString] }

  /// Calls `body` while a server is running.
  ///
  /// - Parameters:
  ///   - mebibytes: The length of the long body, in mebibytes.
  ///   - body: The function to call.
  /// - Returns: The value that the function returns.
  /// - Throws: An error if the server does not start; any error thrown by the function.
  static func whileRunning<Result>(
    mebibytes: Int, _ body: (HTTPServer) async throws -> Result
  ) async throws -> Result {
    if let running { return try await body(HTTPServer(name: running.absoluteString, url: running)) }
    return try await withTemporaryFolder { folder in
      let log = folder.appending(path: "log")
      guard let nginx else {
        let command = [Bundle.main.executablePath ?? CommandLine.arguments[0], "--serve"]
        return try await whileExecuting(command, log: log) { output in
          try await body(ready("Benchmark", output: output) { String(output().prefix { $0 != "\n" }) })
        }
      }
      // After this statement, the port is free again, so nginx can use it.
      let port = try RefusingPort().port
      let settings = try nginxSettings(port: port, folder: folder, mebibytes: mebibytes)
      return try await whileExecuting([nginx, "-c", settings.path], log: log) { output in
        try await body(ready("nginx", output: output) { "http://127.0.0.1:\(port)" })
      }
    }
  }

  // MARK: nginx

  /// The path of nginx. Debian installs it outside the `PATH` of most users.
  static let nginx = Program.path(of: "nginx", orIn: ["/usr/sbin", "/usr/local/sbin"])

  /// Writes the settings, and the file with the long body, into a folder.
  private static func nginxSettings(port: Int, folder: URL, mebibytes: Int) throws -> URL {
    let long = folder.appending(path: "long")
    try FileManager.default.createDirectory(at: long, withIntermediateDirectories: true)
    let content = try FileHandle.creating(long.appending(path: "\(mebibytes)"))
    try content.truncate(atOffset: UInt64(mebibytes) << 20)
    try content.close()
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder.path)/\($0);" }
    let settings = """
      daemon off; master_process off; pid \(folder.path)/pid; error_log stderr;
      events { worker_connections 1024; }
      http {
        \(temporary.joined(separator: " "))
        access_log off; sendfile on; keepalive_requests 1000000000;
        server {
          listen 127.0.0.1:\(port);
          location / { return 200 "\(body)"; }
          location /long/ { root \(folder.path); }
        }
      }
      """
    let file = folder.appending(path: "nginx.conf")
    try Data(settings.utf8).write(to: file)
    return file
  }

  // MARK: This program

  /// Prints the address of the server, and serves requests until the process is terminated.
  static func serve() async throws {
    let server = try LoopbackServer(keepsConnections: true, handler: response)
    Console.print("\(server.url("/"))")
    while true { try await Task.sleep(for: .seconds(3_600)) }
  }

  @Sendable static func response(to request: ServerRequest) -> ServerResponse {
    guard request.path.hasPrefix("/long/"), let count = Int(request.path.dropFirst(6)) else { return .ok(body) }
    // The client receives as many bytes as the head specifies, and then disconnects.
    var response = ServerResponse.endless(piece)
    response.headers = ["Content-Length": "\(count << 20)", "Connection": "close"]
    return response
  }

  private static let piece = Data(repeating: 0x2e, count: 1 << 20)

  // MARK: Processes

  /// Calls `body` while a program is running. The program writes its output to a file, because a full pipe would block it.
  ///
  /// A shell starts the program, and stops it if this process is killed. The shell detects this because writing to its standard output
  /// fails.
  private static func whileExecuting<Result>(
    _ command: [String], log: URL, _ body: (_ output: @escaping @Sendable () -> String) async throws -> Result
  ) async throws -> Result {
    let script = """
      "$@" >"$0" 2>&1 &
      trap "kill $!; wait" EXIT
      trap exit TERM
      trap "" PIPE
      while echo; do sleep 1; done
      """
    let arguments = (["-c", script, log.path] + command).map { SystemText($0) }
    return try await withProcedureQueue("server") { queue in
      let server = queue.add(ProcessProcedure("server"), input: ProcessRequest("/bin/sh", arguments))
      defer { server.cancel() }
      return try await body { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }
    }
  }

  /// Returns the server once it responds.
  private static func ready(
    _ name: String, output: @escaping @Sendable () -> String, address: @escaping @Sendable () -> String
  ) async throws -> HTTPServer {
    let load = NetworkDataProcedure("ready")
    let answer = ProcedureTask("ready") {
      guard let url = URL(string: address()) else { throw URLError(.badURL) }
      _ = try await load.execute(URLRequest(url: url.appending(path: "1")))
      return HTTPServer(name: name, url: url)
    }
    do {
      return try await answer.retry(.constant(.milliseconds(20)), maxAttempts: 500)()
    } catch {
      throw NotReady(name: name, reason: "\(error)", output: output())
    }
  }
}
