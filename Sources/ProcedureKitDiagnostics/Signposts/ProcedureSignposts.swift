#if canImport(os)
  public import ProcedureKit
  import os

  /// Signposts that mark executions as intervals. The *os_signpost* instrument in Instruments displays the intervals.
  ///
  /// ```swift
  /// let signposts = ProcedureSignposts(subsystem: "com.example.mail")
  /// var configuration = ProcedureQueue.Configuration("mail")
  /// configuration.interceptor = signposts.interceptor
  /// ```
  ///
  /// An interval begins before the body is called, in the task that executes the body. It ends when the body ends, even if the body throws
  /// an error or is cancelled. Each attempt is a separate interval, with the procedure's name, its identity and the number of the attempt.
  /// While Instruments is not recording, the only overhead for each execution is a single check.
  public struct ProcedureSignposts: Sendable {
    private let signposter: OSSignposter

    /// Creates signposts.
    ///
    /// - Parameters:
    ///   - subsystem: The subsystem. By convention, this is the bundle identifier.
    ///   - category: The category within the subsystem.
    public init(subsystem: String, category: String = "ProcedureKit") {
      signposter = OSSignposter(subsystem: subsystem, category: category)
    }

    /// An interceptor that wraps each execution on a queue in an interval; see `ProcedureQueue.Configuration.interceptor`.
    public var interceptor:
      @concurrent @Sendable (
        _ context: ProcedureContext, _ next: @escaping @concurrent @Sendable () async throws -> Void
      ) async throws -> Void
    {
      { context, next in try await interval(context, next) }
    }

    /// Calls a function within an interval. Use this function with `Procedure.intercepted`.
    ///
    /// - Parameters:
    ///   - context: The context of the execution.
    ///   - body: The function.
    /// - Returns: The result of the function.
    /// - Throws: The error thrown by the function.
    public func interval<Success: Sendable>(
      _ context: ProcedureContext, _ body: @concurrent @Sendable () async throws -> Success
    ) async throws -> Success {
      guard signposter.isEnabled else { return try await body() }
      let name = "\(context.name) \(context.id) attempt \(context.attempt)"
      let state = signposter.beginInterval(
        "procedure", id: signposter.makeSignpostID(), "\(name, privacy: .public)")
      defer { signposter.endInterval("procedure", state) }
      return try await body()
    }
  }
#endif
