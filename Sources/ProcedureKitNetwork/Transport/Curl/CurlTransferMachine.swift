/// Makes the decisions for one transfer: what libcurl's callbacks return, which directions are paused, and how the transfer ends.
///
/// The machine counts bytes and compares times; it does not hold bytes or call anything.
struct CurlTransferMachine: Equatable {
  enum Phase: Equatable {
    /// The transfer has not been handed to libcurl yet. Next: `head`, `ended`.
    case waiting
    /// The head of the response is incomplete; its status is known as soon as its first line has arrived. Next: `head`, `body`, `ended`.
    case head(status: Int?)
    /// The head is complete. Next: `ended`.
    case body
    /// libcurl no longer has the transfer.
    case ended
  }

  /// Why a transfer did not succeed.
  enum Failure: Equatable {
    case cancelled
    /// The request's body could not be produced.
    case sourceFailed
    /// The heads, interim heads and trailers have more bytes than ``Limits/head`` in total.
    case headTooLong
    /// The first line of a head is not a status line, another line looks like one, or a body began before the end of its head.
    case badStatusLine
    /// The connection was closed before the empty line that ends the head. libcurl regards this as a success.
    case headCut
    /// A transfer coding other than `chunked`. libcurl would decode every layer of it before a limit takes effect.
    case unexpectedCoding
    /// The server switched to another protocol, which the request had not offered.
    case unexpectedUpgrade
    /// Nothing was sent or received for ``Limits/idle``.
    case idle
    /// libcurl's own error code.
    case curl(Int32)
  }

  struct Limits: Equatable {
    static let unreadBytes = 128 << 10
    /// How often the loop checks whether the peer of a transfer with a paused sender has closed the connection.
    static let look = Duration.seconds(1)

    /// The largest number of bytes of all heads and trailers.
    var head = 128 << 10
    /// How many bytes may wait for their reader: at this number, the transfer is paused.
    var unread = Limits.unreadBytes
    /// How long the transfer may be idle, with nothing sent or received; `nil` for no limit.
    var idle: Duration?
  }

  enum HeadEnd: Equatable {
    /// A head with a 1xx status, which is followed by another head.
    case interim
    case final
    case refused
  }

  /// What the loop must do next for the transfer.
  enum Turn: Equatable {
    /// Nothing until the given time; if it is `nil`, nothing until something happens.
    case wait(until: ContinuousClock.Instant?)
    /// Find out whether the peer has closed the connection.
    case look
    /// End the pauses whose reason is gone.
    case resume
    case end
  }

  /// What a callback that asks for bytes to send is given.
  enum Supply: Equatable {
    case bytes, pause, end
  }

  private(set) var phase = Phase.waiting
  private(set) var isReceivingPaused = false
  private(set) var isSendingPaused = false
  /// The first reason to end the transfer from this side.
  private(set) var failure: Failure?
  /// Whether the rest of the request's body is not sent, because the server has answered with a status other than a success, or has closed
  /// the connection.
  private(set) var isBodyRefused = false
  /// The number of bytes still missing from the answer to a refused body; `nil` if the head announces no length.
  private var answerRest: Int64?
  private let limits: Limits
  private var headCount = 0
  private var unreadCount = 0
  private var lastActivity: ContinuousClock.Instant?
  /// The time of the next check while the sender is paused.
  private var nextLook: ContinuousClock.Instant?

  init(_ limits: Limits) { self.limits = limits }

  /// Reports the start. Returns whether the transfer should be handed to libcurl.
  mutating func started() -> Bool {
    guard failure == nil else { return false }
    phase = .head(status: nil)
    return true
  }

  // MARK: What arrived

  /// Bytes of a head, or of the trailers after the body, have arrived. Returns whether they are accepted.
  mutating func headArrived(_ count: Int) -> Bool {
    headCount += count
    if headCount > limits.head { fail(.headTooLong) }
    return failure == nil
  }

  /// The first line of a head, or another line that looks like one, has arrived with a status, which is `nil` if the line could not be
  /// parsed. Returns whether the line is accepted. If a head could have a second status, libcurl and this code could take different
  /// statuses from the same response.
  mutating func statusLineArrived(_ status: Int?) -> Bool {
    if let status, phase == .head(status: nil) { phase = .head(status: status) } else { fail(.badStatusLine) }
    return failure == nil
  }

  /// A field `Transfer-Encoding` has arrived, possibly in a trailer. Returns whether its codings are accepted.
  mutating func transferCodingArrived(isChunked: Bool) -> Bool {
    if !isChunked { fail(.unexpectedCoding) }
    return failure == nil
  }

  /// The empty line after a head has arrived. The head may have announced the length of the body.
  mutating func headEnded(announcedLength: Int64? = nil) -> HeadEnd {
    guard failure == nil, case .head(let status?) = phase else {
      fail(.badStatusLine)
      return .refused
    }
    if status == 101 {
      fail(.unexpectedUpgrade)
      return .refused
    }
    if (100...199).contains(status) {
      phase = .head(status: nil)
      return .interim
    }
    phase = .body
    isBodyRefused = status >= 300
    answerRest = announcedLength
    return .final
  }

  /// Bytes of the body have arrived. Returns whether they are kept. If not, the transfer has failed, or libcurl presents them again after
  /// the pause.
  mutating func bodyArrived(_ count: Int) -> Bool {
    // libcurl took a line that is not empty for the end of the head.
    guard case .body = phase else {
      fail(.badStatusLine)
      return false
    }
    // If the reader is slower than the peer, the peer has to wait, so the data does not accumulate in memory.
    guard unreadCount < limits.unread else {
      isReceivingPaused = true
      return false
    }
    unreadCount += count
    answerRest = answerRest.map { $0 - Int64(count) }
    return true
  }

  /// The reader has taken all bytes. Returns whether the transfer should be resumed.
  mutating func bodyTaken() -> Bool {
    unreadCount = 0
    return isReceivingPaused
  }

  // MARK: What is sent

  /// libcurl can send more. Returns what to give it.
  mutating func supplyWanted(hasBytes: Bool, isComplete: Bool) -> Supply {
    // Otherwise, a server that refuses a body and then closes the connection would be sent all of it.
    if isBodyRefused { return .end }
    if hasBytes { return .bytes }
    if isComplete { return .end }
    isSendingPaused = true
    return .pause
  }

  // MARK: Pauses and time

  /// Returns what the loop must do next.
  mutating func turn(at now: ContinuousClock.Instant) -> Turn {
    if failure != nil { return .end }
    if isSendingPaused {
      // No more of the body is sent, and the pause would keep the transfer from ending.
      if isBodyRefused { return .resume }
      let look = nextLook ?? now + Limits.look
      nextLook = look > now ? look : now + Limits.look
      return look > now ? .wait(until: look) : .look
    }
    nextLook = nil
    guard let deadline = idleDeadline, deadline <= now else { return .wait(until: idleDeadline) }
    if !isAnswered { fail(.idle) }
    return .end
  }

  /// The peer has closed the connection. While the sender is paused, libcurl does not react to that.
  mutating func peerClosed() {
    // If the head has arrived, libcurl decides whether the answer is complete.
    if case .body = phase { isBodyRefused = true } else { fail(.headCut) }
  }

  /// Ends the pauses whose reason is gone.
  mutating func resumed(canReceive: Bool, canSend: Bool, at now: ContinuousClock.Instant) {
    if canReceive { isReceivingPaused = false }
    if canSend || isBodyRefused { isSendingPaused = false }
    lastActivity = now
  }

  /// Something was sent or received, or the transfer has begun.
  mutating func wasActive(at now: ContinuousClock.Instant) { lastActivity = now }

  /// The time at which the transfer will have been idle for too long unless something happens; `nil` for never.
  var idleDeadline: ContinuousClock.Instant? {
    // During a pause, this side keeps the peer waiting, so the time does not count.
    guard let lastActivity, let idle = limits.idle, !isReceivingPaused, !isSendingPaused else { return nil }
    return lastActivity + idle
  }

  // MARK: The end

  /// Records a reason to end the transfer. Only the first one counts.
  mutating func fail(_ failure: Failure) {
    guard phase != .ended, self.failure == nil else { return }
    self.failure = failure
  }

  /// The request's body could not be produced. Returns whether that ends the transfer. If the body has been refused, it does not, because
  /// nothing more of the body would be sent anyway.
  mutating func sourceFailed() -> Bool {
    if !isBodyRefused { fail(.sourceFailed) }
    return failure != nil
  }

  /// Whether the body was refused and the whole answer has arrived. From then on, errors in sending the rest no longer matter.
  private var isAnswered: Bool { isBodyRefused && answerRest == 0 }

  /// libcurl no longer has the transfer. `code` is libcurl's result code.
  mutating func ended(code: Int32) {
    precondition(phase != .ended, "\(#function): the transfer has ended before")
    if failure == nil, code != 0, !isAnswered { failure = .curl(code) }
    // libcurl reports success for a head that was cut off.
    if failure == nil, phase != .body { failure = .headCut }
    phase = .ended
  }
}
