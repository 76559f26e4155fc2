import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An exchange that a session is performing, from its start to the completion of the session's task.
///
/// The continuation is resumed exactly once. If the exchange was stopped before its task was created, `mayStart` resumes the continuation.
/// Otherwise, it is resumed when the task completes. The session reports exactly one completion for each task on which `resume()` was
/// called.
final class RunningExchange: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Void, any Error>?
    /// The task; `nil` before it can be cancelled, and after the exchange ends.
    var task: URLSessionTask?
    /// The first reason that was given for stopping the exchange.
    var reason: (any Error)?
    var hasResponse = false
  }

  private let exchange: HTTPExchange
  private let state = Mutex(State())

  init(_ exchange: HTTPExchange) { self.exchange = exchange }

  func begin(_ continuation: CheckedContinuation<Void, any Error>) {
    state.withLock { $0.continuation = continuation }
  }

  /// Returns whether a task should be created. If the exchange was stopped, the function ends it and returns `false`.
  func mayStart() -> Bool {
    guard state.withLock({ $0.reason != nil }) else { return true }
    end(nil)
    return false
  }

  /// Records that the task has been resumed. From this point on, cancelling the task makes the session report that the task has completed.
  func didResume(_ task: URLSessionTask) {
    let isStopped = state.withLock { state in
      if state.continuation != nil { state.task = task }
      return state.reason != nil
    }
    if isStopped { task.cancel() }
  }

  /// Ends the transfer. Once the session has completed the task, the exchange throws the first reason that was given.
  func stop(_ reason: any Error) {
    let task = state.withLock { state -> URLSessionTask? in
      guard state.reason == nil else { return nil }
      state.reason = reason
      return state.task
    }
    if let task { task.cancel() }
  }

  // MARK: From the session

  func didSend(_ totalBytes: Int64) {
    guard !isStopped else { return }
    exchange.didSend(totalBytes: totalBytes)
  }

  func didReceive(_ response: URLResponse) {
    stopOnError {
      guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
      state.withLock { $0.hasResponse = true }
      try exchange.didReceive(response)
    }
  }

  func didReceive(_ data: Data) {
    stopOnError { try exchange.didReceive(data) }
  }

  private var isStopped: Bool { state.withLock { $0.reason != nil } }

  private func stopOnError(_ report: () throws -> Void) {
    guard !isStopped else { return }
    do { try report() } catch { stop(error) }
  }

  /// Calls a closure, unless the exchange has been stopped. The lock prevents the exchange from being stopped during the call. On Linux,
  /// the process crashes if a redirect is answered after a cancellation.
  func unlessStopped(_ answer: () -> Void) {
    state.withLock { state in
      if state.reason == nil { answer() }
    }
  }

  func didComplete(_ task: URLSessionTask, _ error: (any Error)?) {
    // On Linux, a redirect response that has no `Location` field is available only from the task.
    if error == nil, let response = task.response, !state.withLock({ $0.hasResponse }) { didReceive(response) }
    end(error)
  }

  private func end(_ error: (any Error)?) {
    let (continuation, reason) = state.withLock { state in
      let ended = state
      state.continuation = nil
      state.task = nil
      return (ended.continuation, ended.reason)
    }
    if let error = reason ?? error { continuation?.resume(throwing: error) } else { continuation?.resume() }
  }
}
