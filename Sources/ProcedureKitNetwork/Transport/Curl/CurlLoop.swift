import Foundation
import LoadedLibraries
import Synchronization

/// The single thread that performs all transfers of a ``CurlTransport``.
///
/// The thread starts with the first transfer. It ends, and closes the connections kept for reuse, when there has been no transfer for
/// ``lingering`` or when its transport is deallocated. The next transfer starts another thread. Every libcurl function except
/// `curl_multi_wakeup` is called only on this thread.
final class CurlLoop: Sendable {
  private enum Command {
    case add(CurlTransfer)
    case resume(CurlTransfer)
    /// The transfer knows the reason.
    case end(CurlTransfer)
  }

  private struct State {
    /// libcurl's set of transfers, while a thread is running.
    var multi: Multi?
    var commands: [Command] = []
    /// Whether the thread is waiting in `curl_multi_poll`, or about to wait there: a command must wake it.
    var isPolling = false
    var isStopped = false
  }

  /// libcurl's set of transfers. It is closed when neither the thread nor a task that is waking the thread needs it any more.
  ///
  /// Invariant of `@unchecked Sendable`: other tasks only wake the thread, which libcurl allows.
  private final class Multi: @unchecked Sendable {
    let set: OpaquePointer
    /// Whether `curl_multi_wakeup` works. If the process has no descriptors left, libcurl creates a set without the pair of sockets that a
    /// wake-up needs.
    let isWakeable: Bool

    init(_ set: OpaquePointer) {
      self.set = set
      // This makes the first wait end at once, which costs nothing.
      isWakeable = pk_curl_multi_wakeup(set) == 0
    }

    deinit { pk_curl_multi_cleanup(set) }

    /// If waking works at all, it always works: if the buffer for wake-ups is full, libcurl still wakes up.
    func wake() { pk_curl_multi_wakeup(set) }
  }

  private static let lingering = Duration.seconds(30)
  /// The longest wait of a thread that cannot be woken.
  private static let unwakeableWait = Duration.milliseconds(20)

  private let configuration: CurlTransport.Configuration
  let handles = CurlHandles()
  private let state = Mutex(State())

  init(_ configuration: CurlTransport.Configuration) { self.configuration = configuration }

  func add(_ transfer: CurlTransfer) { send(.add(transfer)) }

  /// The reader has taken the data that was waiting for it, or the supplier has provided more.
  func resume(_ transfer: CurlTransfer) { send(.resume(transfer)) }

  /// Removes a transfer at once. A transfer that has already ended is left alone.
  func end(_ transfer: CurlTransfer) { send(.end(transfer)) }

  /// Ends the thread. There must be no transfers left.
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
    // This happens outside the lock, because the woken thread takes the lock at once.
    sleeper?.wake()
    switch isFirst {
    case false?: break
    case true?:
      let thread = Thread { [self] in run() }
      thread.name = "ProcedureKit HTTP"
      thread.start()
    case nil:
      // There is no memory for a set. Without a set, there are no other transfers.
      if case .add(let transfer) = command { transfer.end(code: CURLE_OUT_OF_MEMORY) }
    }
  }

  private func makeMulti() -> Multi? {
    guard let multi = pk_curl_multi_init() else { return nil }
    pk_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.maxIdleConnections)
    pk_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maxConnectionsPerHost)
    // Each transfer has its own connection: if an HTTP/2 connection were shared, a paused reader would hold up the other transfers.
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
      // A transfer that has already been cancelled sends nothing.
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

  /// Wakes the tasks that are waiting for a transfer, and ends transfers that have failed or have been idle for too long. Returns the time
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
      // The next iteration handles what has become possible.
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

  /// Ends the thread, unless a command has arrived.
  private func leave() -> Bool {
    let last = state.withLock { state in state.commands.isEmpty ? state.multi.take() : nil }
    if last != nil { handles.removeAll() }
    return last != nil
  }
}
