/// The state machine of a transfer. It decides what the callbacks return to libcurl, whether receiving and sending are paused, and how
/// the transfer ends.
///
/// The machine counts bytes and compares times. It neither holds bytes nor calls other code.
struct CurlTransferMachine: Equatable {
  enum Phase: Equatable {
    /// The transfer has not been handed to libcurl yet. Next: `head` or `ended`.
    case waiting
    /// The head of the response is incomplete. Its status is known once its first line has arrived. Next: `head`, `body`, or `ended`.
    case head(status: Int?)
    /// The head is complete. Next: `ended`.
    case body
    /// libcurl no longer has the transfer.
    case ended
  }

  /// The reason a transfer did not succeed.
  enum Failure: Equatable {
    case cancelled
    /// The request body could not be produced.
    case sourceFailed
    /// Together, the heads (including interim ones) and the trailers exceed ``Limits/head`` bytes.
    case headTooLong
    /// The first line of a head is not a status line, another line looks like one, or a body started before its head ended.
    case badStatusLine
    /// The connection was closed before the empty line that ends the head. libcurl treats this as a success.
    case headCut
    /// The response has a transfer coding other than `chunked`. libcurl would decode every layer of such a coding before any limit took
    /// effect.
    case unexpectedCoding
    /// A proxy responded to `CONNECT` with more than ``Limits/stepsPerTurn`` bytes in one turn. libcurl would read a response of any length
    /// in a single call.
    case proxyResponseTooLong
    /// A proxy refused the connection by responding to `CONNECT` with this status.
    case refusedByProxy(status: Int)
    /// The server switched to a protocol that the request did not offer.
    case unexpectedUpgrade
    /// Nothing was sent or received for the duration ``Limits/idle``.
    case idle
    /// The transfer took longer than ``Limits/total``.
    case total
    /// libcurl reported this error code.
    case curl(Int32)
  }

  struct Limits: Equatable {
    static let unreadBytes = 128 << 10
    /// How often ``CurlLoop`` checks whether the peer has closed the connection. These checks are made only while sending is paused.
    static let look = Duration.seconds(1)
    /// The maximum number of steps in a turn of ``CurlLoop``. libcurl reads a proxy's response to `CONNECT` byte by byte, and each byte is
    /// a step. Steps of other kinds do more work, but a turn has only a few of them.
    static let stepsPerTurn = 64 << 10

    /// The maximum total number of bytes in all heads and trailers.
    var head = 128 << 10
    /// The number of unread bytes at which the transfer is paused.
    var unread = Limits.unreadBytes
    /// How long the transfer is allowed to be idle, with nothing being sent or received; `nil` if there is no limit.
    var idle: Duration?
    /// How long the transfer is allowed to take in total, including pauses; `nil` if there is no limit.
    var total: Duration?
  }

  enum HeadEnd: Equatable {
    /// A head with a 1xx status, which is followed by another head.
    case interim
    case final
    case refused
  }

  /// The action that ``CurlLoop`` must take next for the transfer.
  enum Turn: Equatable {
    /// Do nothing until the given time or, if it is `nil`, until something happens.
    case wait(until: ContinuousClock.Instant?)
    /// Check whether the peer has closed the connection.
    case look
    /// End pauses that are no longer necessary.
    case resume
    case end
  }

  /// The response to a callback that asks for bytes to send.
  enum Supply: Equatable {
    case bytes, pause, end
  }

  private(set) var phase = Phase.waiting
  private(set) var isReceivingPaused = false
  private(set) var isSendingPaused = false
  /// The first recorded reason for ending the transfer; `nil` if there is none.
  private(set) var failure: Failure?
  /// Whether the server has responded with a status of 300 or more, or has closed the connection. If so, no more of the request body is
  /// sent.
  private(set) var isBodyRefused = false
  /// The number of bytes that are still missing from the response; `nil` if the head does not specify a length.
  private var answerRest: Int64?
  private let limits: Limits
  private var headCount = 0
  private var unreadCount = 0
  private var stepCount = 0
  private var lastActivity: ContinuousClock.Instant?
  /// The time at which the transfer has to end; `nil` if there is no limit.
  private var end: ContinuousClock.Instant?
  /// The time of the next check while sending is paused.
  private var nextLook: ContinuousClock.Instant?

  init(_ limits: Limits) { self.limits = limits }

  /// Records that the transfer starts. Returns whether it should be handed to libcurl.
  mutating func started(at now: ContinuousClock.Instant) -> Bool {
    guard failure == nil else { return false }
    phase = .head(status: nil)
    lastActivity = now
    end = limits.total.map { now + $0 }
    return true
  }

  // MARK: Received data

  /// Counts bytes of a head or of the trailers after the body. Returns whether they are accepted.
  mutating func headArrived(_ count: Int) -> Bool {
    headCount += count
    if headCount > limits.head { fail(.headTooLong) }
    return failure == nil
  }

  /// Handles the first line of a head, or a later line that starts with `HTTP/`. The status is `nil` if the line could not be parsed.
  ///
  /// Returns whether the line is accepted. A second status line in a head is refused, because libcurl and this code might otherwise take
  /// the status from different lines.
  mutating func statusLineArrived(_ status: Int?) -> Bool {
    if let status, phase == .head(status: nil) { phase = .head(status: status) } else { fail(.badStatusLine) }
    return failure == nil
  }

  /// Handles a `Transfer-Encoding` field, which may be in a trailer. Returns whether its codings are accepted.
  mutating func transferCodingArrived(isChunked: Bool) -> Bool {
    if !isChunked { fail(.unexpectedCoding) }
    return failure == nil
  }

  /// Handles the empty line after a head. `announcedLength` is the length of the body, if the head specified it.
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

  /// Handles bytes of the body. Returns whether they are kept. If they are not, either the transfer has failed or libcurl will deliver them
  /// again after a pause.
  mutating func bodyArrived(_ count: Int) -> Bool {
    // libcurl mistook a non-empty line for the end of the head.
    guard case .body = phase else {
      fail(.badStatusLine)
      return false
    }
    // If the reader is slower than the peer, the peer has to wait, so that data does not accumulate in memory.
    guard unreadCount < limits.unread else {
      isReceivingPaused = true
      return false
    }
    unreadCount += count
    answerRest = answerRest.map { $0 - Int64(count) }
    return true
  }

  /// Records that the reader has taken all bytes. Returns whether the transfer should be resumed.
  mutating func bodyTaken() -> Bool {
    unreadCount = 0
    return isReceivingPaused
  }

  // MARK: Sent data

  /// Returns how to respond to libcurl when it can send more bytes.
  mutating func supplyWanted(hasBytes: Bool, isComplete: Bool) -> Supply {
    // Without this check, the entire body would be sent to a server that has already refused it.
    if isBodyRefused { return .end }
    if hasBytes { return .bytes }
    if isComplete { return .end }
    isSendingPaused = true
    return .pause
  }

  // MARK: Progress

  /// Counts a step in which libcurl used the connection. Returns whether the transfer continues.
  mutating func progressed() -> Bool {
    stepCount += 1
    if stepCount > Limits.stepsPerTurn { fail(.proxyResponseTooLong) }
    return failure == nil
  }

  // MARK: Pauses and time

  /// Ends a turn of ``CurlLoop``, and returns the action that the loop must take next.
  mutating func turn(at now: ContinuousClock.Instant) -> Turn {
    stepCount = 0
    // With HTTP/2, libcurl does not end a transfer whose response is complete if it still has to send part of the request.
    if failure != nil || isAnswered { return .end }
    if let end, end <= now { return timedOut(.total) }
    if isSendingPaused {
      // No more of the body will be sent, and a pause would keep the transfer from ending.
      if isBodyRefused { return .resume }
      let look = nextLook ?? now + Limits.look
      nextLook = look > now ? look : now + Limits.look
      return look > now ? .wait(until: min(look, end ?? look)) : .look
    }
    nextLook = nil
    guard let idleDeadline else { return .wait(until: end) }
    return idleDeadline <= now ? timedOut(.idle) : .wait(until: min(idleDeadline, end ?? idleDeadline))
  }

  private mutating func timedOut(_ failure: Failure) -> Turn {
    fail(failure)
    return .end
  }

  /// Records that the peer has closed the connection, which libcurl does not detect while sending is paused.
  mutating func peerClosed() {
    // If the head has arrived, libcurl decides whether the response is complete.
    if case .body = phase { isBodyRefused = true } else { fail(.headCut) }
  }

  /// Ends pauses that are no longer necessary.
  mutating func resumed(canReceive: Bool, canSend: Bool, at now: ContinuousClock.Instant) {
    if canReceive { isReceivingPaused = false }
    if canSend || isBodyRefused { isSendingPaused = false }
    lastActivity = now
  }

  /// Records that something was sent or received.
  mutating func wasActive(at now: ContinuousClock.Instant) { lastActivity = now }

  /// The time at which the transfer will reach the idle limit, unless something is sent or received first; `nil` if there is no limit, or
  /// if the transfer is paused.
  var idleDeadline: ContinuousClock.Instant? {
    // During a pause, this side is keeping the peer waiting, so the transfer is not considered idle.
    guard let lastActivity, let idle = limits.idle, !isReceivingPaused, !isSendingPaused else { return nil }
    return lastActivity + idle
  }

  // MARK: The end

  /// Records a reason to end the transfer. Only the first reason is kept.
  mutating func fail(_ failure: Failure) {
    guard phase != .ended, self.failure == nil else { return }
    self.failure = failure
  }

  /// Records that the request body could not be produced. Returns whether the transfer has to end.
  ///
  /// If the server refused the body, the transfer continues, because no more of the body would have been sent anyway.
  mutating func sourceFailed() -> Bool {
    if !isBodyRefused { fail(.sourceFailed) }
    return failure != nil
  }

  /// Whether the server refused the request body and the whole response has arrived. If so, errors and time limits no longer matter.
  private var isAnswered: Bool { isBodyRefused && answerRest == 0 }

  /// Records that libcurl has ended the transfer with a result code. `proxyStatus` is the status of a proxy's response to `CONNECT`, or 0.
  mutating func ended(code: Int32, proxyStatus: Int = 0) {
    precondition(phase != .ended, "\(#function): the transfer has already ended")
    if code != 0, proxyStatus >= 300 { fail(.refusedByProxy(status: proxyStatus)) }
    if failure == nil, code != 0, !isAnswered { failure = .curl(code) }
    // libcurl reports success for a truncated head.
    if failure == nil, phase != .body { failure = .headCut }
    phase = .ended
  }
}
