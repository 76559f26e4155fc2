import Synchronization

/// A queue of messages for one task. Cancelling the task does not end its wait, because the task must still wait for a program that is
/// being stopped.
final class Mailbox<Message: Sendable>: Sendable {
  private struct Contents {
    var messages: [Message] = []
    var reader: CheckedContinuation<Message, Never>?
    var wakesForQuiet = false
  }

  private let contents = Mutex(Contents())

  /// Adds a message.
  ///
  /// - Parameters:
  ///   - message: The message to add.
  ///   - isQuiet: Whether the message is quiet. A quiet message wakes the reader only if the reader has requested this, because waking a
  ///     task takes as much time as a system call.
  func send(_ message: Message, isQuiet: Bool = false) {
    let wake = contents.withLock { contents -> (reader: CheckedContinuation<Message, Never>, message: Message)? in
      contents.messages.append(message)
      guard !isQuiet || contents.wakesForQuiet, let reader = contents.reader.take() else { return nil }
      return (reader, contents.messages.removeFirst())
    }
    if let wake { wake.reader.resume(returning: wake.message) }
  }

  /// Waits for the next message. Only one task may wait at a time.
  ///
  /// - Parameter wakesForQuiet: Whether a quiet message also ends the wait; see ``send(_:isQuiet:)``.
  /// - Returns: The message.
  func next(wakesForQuiet: Bool) async -> Message {
    await withCheckedContinuation { reader in
      let message = contents.withLock { contents -> Message? in
        guard contents.messages.isEmpty else { return contents.messages.removeFirst() }
        (contents.reader, contents.wakesForQuiet) = (reader, wakesForQuiet)
        return nil
      }
      if let message { reader.resume(returning: message) }
    }
  }
}
