import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The delegate of a session: passes what comes to the exchange of the task.
final class SessionExchanges: NSObject, URLSessionDataDelegate, Sendable {
  private struct State {
    var running: [Int: RunningExchange] = [:]
    /// How often something has begun or come.
    var activity = 0
  }

  private let state = Mutex(State())

  /// A number that differs whenever something has begun or come; `nil` if no exchange is under way.
  var activity: Int? { state.withLock { $0.running.isEmpty ? nil : $0.activity } }

  func add(_ exchange: RunningExchange, of task: URLSessionTask) {
    state.withLock { state in
      state.running[task.taskIdentifier] = exchange
      state.activity += 1
    }
  }

  private func exchange(of task: URLSessionTask) -> RunningExchange? {
    state.withLock { state in
      state.activity += 1
      return state.running[task.taskIdentifier]
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // The redirect becomes the response: the procedure decides about the next request.
    exchange(of: task)?.unlessStopped { completionHandler(nil) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    exchange(of: task)?.didSend(totalBytesSent)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    exchange(of: dataTask)?.didReceive(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.didReceive(data)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    state.withLock { $0.running.removeValue(forKey: task.taskIdentifier) }?.didComplete(task, error)
  }
}
