import Foundation
import LoadedLibraries
import Synchronization

/// A loop that runs all transfers on one thread, using libcurl.
///
/// The invariant that justifies `@unchecked Sendable`: only the loop's thread uses the set of transfers and the transfers in it. The
/// exception is `pk_curl_multi_wakeup`, which any thread can call while the set exists. A lock guards the commands that other threads send
/// to the loop.
final class CurlLoop: @unchecked Sendable {
  /// The only loop in the process; `nil` if libcurl is missing or too old.
  static let shared = pk_curl_load() ? CurlLoop() : nil

  private enum Command {
    case add(CurlTransfer)
    case cancel(CurlTransfer)
  }

  private let multi: OpaquePointer
  private let commands = Mutex<[Command]>([])
  private var transfers: [OpaquePointer: CurlTransfer] = [:]

  private init() {
    guard let multi = pk_curl_multi_init() else { fatalError("there is not enough memory for a set of transfers") }
    self.multi = multi
    // The thread exists until the process ends.
    let thread = Thread { [self] in perform() }
    thread.name = "curl"
    thread.start()
  }

  /// Runs a transfer. Cancelling the caller ends the transfer immediately.
  func perform(_ transfer: CurlTransfer) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        transfer.continuation = continuation
        send(.add(transfer))
      }
    } onCancel: {
      send(.cancel(transfer))
    }
  }

  private func send(_ command: Command) {
    commands.withLock { $0.append(command) }
    pk_curl_multi_wakeup(multi)
  }

  private func perform() {
    pk_block_signals()
    while true {
      let new = commands.withLock { commands in
        defer { commands = [] }
        return commands
      }
      for command in new { execute(command) }
      pk_curl_multi_perform(multi)
      var code: Int32 = 0
      while let handle = pk_curl_multi_next_ended(multi, &code) {
        if let transfer = transfers[handle] { end(transfer, .done(code)) }
      }
      pk_curl_multi_poll(multi, 1_000)
    }
  }

  private func execute(_ command: Command) {
    switch command {
    case .add(let transfer) where transfer.isCancelled: transfer.ends(.cancelled)
    case .add(let transfer):
      let code = pk_curl_multi_add(multi, transfer.handle)
      guard code == CURLE_OK else { return transfer.ends(.done(CURLE_OUT_OF_MEMORY)) }
      transfers[transfer.handle] = transfer
    case .cancel(let transfer):
      // The cancellation may arrive before the transfer is added.
      transfer.isCancelled = true
      if transfers[transfer.handle] != nil { end(transfer, .cancelled) }
    }
  }

  private func end(_ transfer: CurlTransfer, _ end: CurlTransfer.End) {
    pk_curl_multi_remove(multi, transfer.handle)
    transfers[transfer.handle] = nil
    transfer.ends(end)
  }
}
