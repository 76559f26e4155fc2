import CCurl
import Foundation
import Synchronization

/// Transfers by libcurl: one thread performs all of them.
///
/// Invariant of `@unchecked Sendable`: the thread alone uses the transfers and the multi handle, but for `curl_multi_wakeup`, which any thread may
/// call while the handle lives; the commands are under a lock.
final class CurlLoop: @unchecked Sendable {
  static let shared = CurlLoop()

  private enum Command {
    case add(CurlTransfer)
    case cancel(CurlTransfer)
  }

  private let multi: OpaquePointer
  private let commands = Mutex<[Command]>([])
  private var transfers: [OpaquePointer: CurlTransfer] = [:]

  private init() {
    curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    guard let multi = curl_multi_init() else { fatalError("libcurl has no memory") }
    self.multi = OpaquePointer(multi)
    // The thread lives as long as the process.
    let thread = Thread { [self] in perform() }
    thread.name = "curl"
    thread.start()
  }

  /// Performs a transfer. Cancelling the caller ends the transfer at once.
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
    curl_multi_wakeup(UnsafeMutableRawPointer(multi))
  }

  private func perform() {
    let multi = UnsafeMutableRawPointer(self.multi)
    while true {
      let new = commands.withLock { commands in
        defer { commands = [] }
        return commands
      }
      for command in new { execute(command) }
      var (running, left) = (Int32(0), Int32(0))
      curl_multi_perform(multi, &running)
      while let message = curl_multi_info_read(multi, &left) {
        guard message.pointee.msg == CURLMSG_DONE else { continue }
        let result = ccurl_result(message)
        if let transfer = transfers[OpaquePointer(message.pointee.easy_handle)] { end(transfer, .done(result)) }
      }
      curl_multi_poll(multi, nil, 0, 1_000, nil)
    }
  }

  private func execute(_ command: Command) {
    switch command {
    case .add(let transfer) where transfer.isCancelled: transfer.ends(.cancelled)
    case .add(let transfer):
      transfers[transfer.handle] = transfer
      curl_multi_add_handle(UnsafeMutableRawPointer(multi), UnsafeMutableRawPointer(transfer.handle))
    case .cancel(let transfer):
      // A cancel can come before its transfer.
      transfer.isCancelled = true
      if transfers[transfer.handle] != nil { end(transfer, .cancelled) }
    }
  }

  private func end(_ transfer: CurlTransfer, _ end: CurlTransfer.End) {
    curl_multi_remove_handle(UnsafeMutableRawPointer(multi), UnsafeMutableRawPointer(transfer.handle))
    transfers[transfer.handle] = nil
    transfer.ends(end)
  }
}
