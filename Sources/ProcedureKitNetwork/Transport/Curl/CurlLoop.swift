import Foundation
import LoadedLibraries
import Synchronization

/// The single thread that performs all transfers of a ``CurlTransport``.
///
/// The thread starts with the first transfer. When there has been no transfer for the duration ``lingering``, or when the transport is
/// deallocated, the thread closes the connections that were kept for reuse, and ends. The next transfer starts another thread. Once a
/// transfer has been added, only this thread calls libcurl functions for it. Other threads call only `curl_multi_wakeup`.
final class CurlLoop: Sendable {
  private enum Command {
    case add(CurlTransfer)
    case resume(CurlTransfer)
    /// Ends a transfer. The reason has already been recorded in the transfer.
    case end(CurlTransfer)
  }

  private struct State {
    /// libcurl's set of transfers; `nil` if no thread is running.
    var multi: Multi?
    var commands: [Command] = []
    /// Whether the thread is waiting in `curl_multi_poll`, or is about to call it. A new command must then wake the thread.
    var isPolling = false
    var isStopped = false
  }

  /// libcurl's set of transfers. The set is closed when this object is deallocated. A task that wakes the thread retains the object,
  /// because the thread may end before the task wakes it.
  ///
  /// The invariant that justifies `@unchecked Sendable`: tasks use the set only to wake the thread, which libcurl permits from any thread.
  private final class Multi: @unchecked Sendable {
    let set: OpaquePointer
    /// Whether `curl_multi_wakeup` works. If the process has run out of descriptors, libcurl creates the multi handle without the
    /// socket pair that a wake-up needs.
    let isWakeable: Bool

    init(_ set: OpaquePointer) {
      self.set = set
      // This wake-up also ends the first wait, which is harmless.
      isWakeable = pk_curl_multi_wakeup(set) == 0
    }

    deinit { pk_curl_multi_cleanup(set) }

    /// Wakes the thread. This always succeeds if ``isWakeable`` is `true`. Even if the buffer for wake-ups is full, the thread wakes up.
    func wake() { pk_curl_multi_wakeup(set) }
  }

  private static let lingering = Duration.seconds(30)
  /// The maximum duration of a wait if the thread cannot be woken.
  private static let unwakeableWait = Duration.milliseconds(20)

  private let configuration: CurlTransport.Configuration
  let handles = CurlHandles()
  private let state = Mutex(State())

  init(_ configuration: CurlTransport.Configuration) { self.configuration = configuration }

  func add(_ transfer: CurlTransfer) { send(.add(transfer)) }

  /// Resumes a transfer when its reader has taken the waiting data, or when its supplier has provided more data.
  func resume(_ transfer: CurlTransfer) { send(.resume(transfer)) }

  /// Removes a transfer immediately. Does nothing if the transfer has already ended.
  func end(_ transfer: CurlTransfer) { send(.end(transfer)) }

  /// Ends the thread. The caller ensures that there are no transfers left.
  func stop() {
    let multi = state.withLock { state in
      state.isStopped = true
      return state.multi
    }
    multi?.wake()
  }

  private func send(_ command: Command) {
    let (isFirst, sleeper) = state.withLock { state -> (Bool?, Multi?) in
      if let multi = state.multi {
        state.commands.append(command)
        defer { state.isPolling = false }
        return (false, state.isPolling ? multi : nil)
      }
      guard let multi = makeMulti() else { return (nil, nil) }
      state.commands.append(command)
      state.multi = multi
      return (true, nil)
    }
    // The thread is woken outside the lock, because it acquires the lock as soon as it wakes up.
    sleeper?.wake()
    switch isFirst {
    case false?: break
    case true?:
      let thread = Thread { [self] in run() }
      thread.name = "ProcedureKit HTTP"
      thread.start()
    case nil:
      // There was not enough memory to create a set. Without a set, there are no other transfers.
      if case .add(let transfer) = command { transfer.end(code: CURLE_OUT_OF_MEMORY) }
    }
  }

  private func makeMulti() -> Multi? {
    guard let multi = pk_curl_multi_init() else { return nil }
    pk_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.maxIdleConnections)
    pk_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maxConnectionsPerHost)
    // Each transfer uses a separate connection, because a paused reader would stall the other transfers on a shared HTTP/2 connection.
    pk_curl_multi_set_long(multi, CURLMOPT_PIPELINING, 0)
    return Multi(multi)
  }

  // MARK: The thread

  private func run() {
    pk_block_signals()
    guard let (multi, isWakeable) = state.withLock({ $0.multi.map { ($0.set, $0.isWakeable) } }) else { return }
    var transfers: [OpaquePointer: CurlTransfer] = [:]
    var idleSince = ContinuousClock.now
    while true {
      for command in takeCommands() { execute(command, multi, &transfers) }
      pk_curl_multi_perform(multi)
      let now = ContinuousClock.now
      var code: Int32 = 0
      while let handle = pk_curl_multi_next_ended(multi, &code) { remove(handle, code: code, multi, &transfers) }
      let deadline = publish(at: now, multi, &transfers)
      if !transfers.isEmpty { idleSince = now }
      let wait = (transfers.isEmpty ? idleSince + Self.lingering : deadline ?? now + .seconds(60)) - now
      if transfers.isEmpty, wait <= .zero || isStopped, leave() { return }
      poll(multi, isWakeable ? wait : min(wait, Self.unwakeableWait))
    }
  }

  private var isStopped: Bool { state.withLock { $0.isStopped } }

  private func takeCommands() -> [Command] {
    state.withLock { state in
      defer { state.commands = [] }
      state.isPolling = false
      return state.commands
    }
  }

  private func execute(_ command: Command, _ multi: OpaquePointer, _ transfers: inout [OpaquePointer: CurlTransfer]) {
    switch command {
    case .add(let transfer):
      // The transfer has already been cancelled, so it sends nothing.
      guard transfer.start(at: .now) else { return transfer.end(code: CURLE_OK) }
      let code = pk_curl_multi_add(multi, transfer.handle)
      guard code == CURLE_OK else { return transfer.end(code: CURLE_OUT_OF_MEMORY) }
      transfers[transfer.handle] = transfer
    case .resume(let transfer):
      if transfers[transfer.handle] === transfer { resume(transfer, at: .now, multi, &transfers) }
    case .end(let transfer):
      if transfers[transfer.handle] === transfer { remove(transfer.handle, code: CURLE_OK, multi, &transfers) }
    }
  }

  private func resume(
    _ transfer: CurlTransfer, at now: ContinuousClock.Instant, _ multi: OpaquePointer,
    _ transfers: inout [OpaquePointer: CurlTransfer]
  ) {
    let code = transfer.resume(at: now)
    if code != CURLE_OK { remove(transfer.handle, code: code, multi, &transfers) }
  }

  /// Wakes the tasks that are waiting for transfers, and ends transfers that have failed or have been idle for too long. Returns the time
  /// of the next check.
  private func publish(
    at now: ContinuousClock.Instant, _ multi: OpaquePointer, _ transfers: inout [OpaquePointer: CurlTransfer]
  ) -> ContinuousClock.Instant? {
    var next: ContinuousClock.Instant?
    var others: [(CurlTransfer, CurlTransferMachine.Turn)] = []
    for transfer in transfers.values {
      switch transfer.publish(at: now) {
      case .wait(let end): if let end { next = min(next ?? end, end) }
      case .look: break
      case let turn: others.append((transfer, turn))
      }
    }
    for (transfer, turn) in others {
      if turn == .end {
        remove(transfer.handle, code: CURLE_OK, multi, &transfers)
        continue
      }
      resume(transfer, at: now, multi, &transfers)
      // The next iteration continues immediately with this transfer.
      next = now
    }
    return next
  }

  private func remove(
    _ handle: OpaquePointer, code: Int32, _ multi: OpaquePointer, _ transfers: inout [OpaquePointer: CurlTransfer]
  ) {
    guard let transfer = transfers.removeValue(forKey: handle) else { return }
    pk_curl_multi_remove(multi, handle)
    transfer.end(code: code)
  }

  private func poll(_ multi: OpaquePointer, _ wait: Duration) {
    let mayPoll = state.withLock { state in
      state.isPolling = state.commands.isEmpty
      return state.isPolling
    }
    if mayPoll { pk_curl_multi_poll(multi, Int32(min(max(wait / .milliseconds(1), 0), 60_000)) + 1) }
  }

  /// Returns whether the thread can end. It must not end if a command has arrived.
  private func leave() -> Bool {
    let last = state.withLock { state in state.commands.isEmpty ? state.multi.take() : nil }
    if last != nil { handles.removeAll() }
    return last != nil
  }
}
