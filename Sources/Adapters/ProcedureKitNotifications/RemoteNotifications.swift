#if canImport(UserNotifications) && !os(watchOS)
  public import Foundation
  public import ProcedureKit
  import Synchronization

  #if canImport(UIKit)
    import UIKit
  #elseif canImport(AppKit)
    import AppKit
  #endif

  /// This device's registration for remote notifications, which servers send through Apple's push notification service.
  ///
  /// ```swift
  /// func application(_: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
  ///   RemoteNotifications.shared.didRegister(token)
  /// }
  /// func application(_: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error) {
  ///   RemoteNotifications.shared.didFail(error)
  /// }
  /// let token = try await queue.run(RegisterForRemoteNotifications())
  /// ```
  public final class RemoteNotifications: Sendable {
    /// The shared registration.
    public static let shared = RemoteNotifications()

    private struct State {
      var waiting: [Int: AsyncStream<Result<Data, any Error>>.Continuation] = [:]
      var number = 0
    }

    private let state = Mutex(State())

    private init() {}

    /// Passes the device token from the app delegate to the waiting procedures.
    public func didRegister(_ token: Data) { answer(.success(token)) }

    /// Passes the error from the app delegate to the waiting procedures.
    public func didFail(_ error: any Error) { answer(.failure(error)) }

    private func answer(_ result: Result<Data, any Error>) {
      let waiting = state.withLock { state in
        defer { state.waiting = [:] }
        return state.waiting.values
      }
      for answer in waiting {
        answer.yield(result)
        answer.finish()
      }
    }

    /// Returns a stream that yields the system's answer to a registration. If the procedure is cancelled before the answer arrives, the
    /// stream ends without a value.
    func answers() -> (
      AsyncStream<Result<Data, any Error>>, AsyncStream<Result<Data, any Error>>.Continuation
    ) {
      let (answers, answer) = AsyncStream.makeStream(of: Result<Data, any Error>.self)
      let number = state.withLock { state in
        state.number += 1
        state.waiting[state.number] = answer
        return state.number
      }
      answer.onTermination = { [self] _ in state.withLock { $0.waiting[number] = nil } }
      return (answers, answer)
    }
  }

  /// A procedure that registers this device for remote notifications and returns the device token. A server needs the token to send
  /// notifications to the device.
  ///
  /// The app delegate must forward two calls to ``RemoteNotifications``, as shown in the documentation of that class. Otherwise, the
  /// procedure waits until it is cancelled, so add a timeout.
  public struct RegisterForRemoteNotifications: InputlessProcedure {
    /// Creates the procedure.
    public init() {}

    /// Registers the device and waits for the system's response. Cancellation ends the wait.
    ///
    /// - Returns: The device token.
    /// - Throws: Any error from the system; `CancellationError` if the procedure is cancelled.
    public func execute() async throws -> Data {
      let (answers, answer) = RemoteNotifications.shared.answers()
      return try await ProcedureContext.withCancellationHandler {
        await Self.register()
        for await answer in answers { return try answer.get() }
        throw CancellationError()
      } onCancel: {
        answer.finish()
      }
    }

    @MainActor private static func register() {
      #if canImport(UIKit)
        UIApplication.shared.registerForRemoteNotifications()
      #elseif canImport(AppKit)
        NSApplication.shared.registerForRemoteNotifications()
      #endif
    }
  }
#endif
