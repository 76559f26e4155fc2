import Synchronization

/// Messages for one task, in order. A cancel of that task ends no wait, since a program that is stopped has to be awaited.
final class Mailbox<Message: Sendable>: Sendable {
  private struct Contents {
    var messages: [Message] = []
    var reader: CheckedContinuation<Message, Never>?
  }

  private let contents = Mutex(Contents())

  func send(_ message: Message) {
    let reader = contents.withLock { contents in
      defer { contents.reader = nil }
      if contents.reader == nil { contents.messages.append(message) }
      return contents.reader
    }
    reader?.resume(returning: message)
  }

  /// Waits for the next message. One task at a time.
  func next() async -> Message {
    await withCheckedContinuation { reader in
      let message = contents.withLock { contents -> Message? in
        guard contents.messages.isEmpty else { return contents.messages.removeFirst() }
        contents.reader = reader
        return nil
      }
      if let message { reader.resume(returning: message) }
    }
  }
}
